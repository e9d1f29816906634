//! Converts logits to a bot's integer weights, so that a choice is exact.

use boardwire_bots::ActionWeights;
use boardwire_kernel::ActionSet;

/// The weight of the best action. The sum of 256 such weights fits 32 bits.
const BEST: f64 = (1 << 23) as f64;
/// The units of a log-ratio in one nat.
const NAT: f64 = 1024.0;

/// Returns the softmax of the logits over the legal actions.
///
/// An action less than 2⁻²⁴ times as likely as the best one has weight 0. A logit of minus infinity excludes its action. Without
/// a legal action there are no weights.
pub(crate) fn softmax(logits: &[f32], legal: ActionSet) -> Result<ActionWeights, String> {
    if legal.is_empty() {
        return Ok(ActionWeights { best: 0, weights: Vec::new(), log_ratios: Vec::new(), value: None });
    }
    let mut best: Option<(u8, f32)> = None;
    for action in legal {
        let logit = logits[usize::from(action)];
        if logit.is_nan() || logit == f32::INFINITY {
            return Err(format!("logit of action {action} is {logit}"));
        }
        if best.is_none_or(|(_, maximum)| logit > maximum) {
            best = Some((action, logit));
        }
    }
    match best {
        Some((best, maximum)) if maximum > f32::NEG_INFINITY => {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates")]
            let convert = |action: u8| {
                let behind = f64::from(logits[usize::from(action)]) - f64::from(maximum);
                ((behind.exp() * BEST).round() as u32, (behind * NAT).round() as i32)
            };
            let (weights, log_ratios) = legal.iter().map(convert).unzip();
            Ok(ActionWeights { best, weights, log_ratios, value: None })
        }
        Some(_) | None => Err("the logit of every legal action is minus infinity".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_follow_the_softmax() {
        let legal = ActionSet::from_iter([1_u8, 2, 4]);
        let logits = [9.0, 2.0_f32.ln(), 0.0, f32::NAN, f32::NEG_INFINITY];
        let (weights, log_ratios) = (vec![1 << 23, 1 << 22, 0], vec![0, -710, i32::MIN]);
        let expected = ActionWeights { best: 1, weights, log_ratios, value: None };
        assert_eq!(softmax(&logits, legal), Ok(expected));
        let all: ActionSet = (0..=255_u8).collect();
        let flat = softmax(&[-3.0; 256], all).expect("they are numbers");
        assert_eq!((flat.best, flat.weights.iter().sum::<u32>()), (0, 1 << 31));
    }

    #[test]
    fn nan_and_infinity_are_refused() {
        let legal = ActionSet::from_iter([0_u8, 1]);
        for (logits, problem) in [
            ([0.0, f32::NAN], "logit of action 1 is NaN"),
            ([f32::INFINITY, 0.0], "logit of action 0 is inf"),
            ([f32::NEG_INFINITY; 2], "the logit of every legal action is minus infinity"),
        ] {
            assert_eq!(softmax(&logits, legal), Err(problem.to_owned()));
        }
    }
}
