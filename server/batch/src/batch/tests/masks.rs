//! Tests of steps with a mask.

use super::*;
use boardwire_api::v1::AutoresetMode;

const N: usize = 150;

fn mask(chosen: impl Fn(usize) -> bool) -> Bytes {
    let mut bits = vec![0; N.div_ceil(8)];
    (0..N).filter(|&index| chosen(index)).for_each(|index| bits[index / 8] |= 1 << (index % 8));
    bits.into()
}

fn masked(batch: &Arc<Batch>, indices: &[u8], mask: Bytes) -> Result<Step, Error> {
    wait(batch.step(0, 0, Actions { indices: Bytes::copy_from_slice(indices), mask }, None))
}

/// Returns the episodes that ended, with their results.
fn ends(step: &Step) -> Vec<[&[u8]; 4]> {
    let count = step.ended().len() / 4;
    let columns = [step.ended(), step.scores(), step.ranks(), step.final_view()];
    (0..count).map(|index| columns.map(|column| row(column, index, column.len() / count))).collect()
}

/// Two steps of one half each equal one step of all. A step of one half does not change the other half.
#[test]
fn masked_out_environments_do_not_change() {
    for autoreset in [AutoresetMode::NextStep, AutoresetMode::SameStep, AutoresetMode::Disabled] {
        let table = table("faraway", 2);
        let config = EnvironmentConfig { autoreset, ..config(&["agent", "agent"]) };
        let (whole, parted) = (open(&table, &config, N, 0, 2), open(&table, &config, N, 0, 2));
        let mut before = reset(&whole);
        assert_eq!(before, reset(&parted));
        let mut ended = 0;
        for salt in 0..120 {
            let running =
                |index: usize| autoreset != AutoresetMode::Disabled || before.seat()[index] != NO_VALUE;
            let in_first_half = |index: usize| {
                running(index) && RngStream::new(salt, index as u64).next_seed().is_multiple_of(2)
            };
            let actions = choices(&before, 0, salt);
            let Ok(both) = masked(&whole, &actions, mask(running)) else { panic!("they are legal") };
            let first = masked(&parted, &actions, mask(in_first_half)).expect("legal");
            let current = current_rows(&parted);
            let second = masked(&parted, &actions, mask(|index| running(index) && !in_first_half(index)))
                .expect("legal");
            for index in 0..N {
                let half = if in_first_half(index) { &first } else { &second };
                assert_eq!(row_digest(half, index), row_digest(&both, index), "{autoreset:?}");
                if !in_first_half(index) {
                    assert_eq!(
                        row_digest(&first, index),
                        row_digest(&current, index),
                        "like a reset of none"
                    );
                    let bytes = before.view().len() / N;
                    assert_eq!(row(first.view(), index, bytes), row(before.view(), index, bytes));
                }
            }
            let mut parts = [ends(&first), ends(&second)].concat();
            parts.sort_unstable_by_key(|[environment, ..]| {
                u32::from_le_bytes((*environment).try_into().expect("four bytes"))
            });
            assert_eq!(parts, ends(&both));
            ended += parts.len();
            before = both;
        }
        assert!(ended >= N, "{ended} episodes");
    }
}

#[test]
fn masked_out_actions_are_not_checked() {
    let batch = open(&table("faraway", 2), &config(&["agent", "random"]), N, 0, 1);
    let mut actions = choices(&reset(&batch), 0, 0);
    actions[70] = 255;
    let refused = masked(&batch, &actions, mask(|index| index == 70)).expect_err("there is no such action");
    assert!(matches!(refused, Error::BatchActionOutOfRange { environment: 70, .. }), "{refused}");
    masked(&batch, &actions, mask(|index| index != 70)).expect("all other actions are legal");
}

#[test]
fn an_error_says_what_is_wrong_with_a_mask() {
    let batch = open(&table("faraway", 2), &config(&["agent", "random"]), N, 0, 1);
    let actions = choices(&reset(&batch), 0, 0);
    let refused =
        |mask: Vec<u8>| masked(&batch, &actions, mask.into()).expect_err("it does not fit").to_string();
    assert_eq!(
        refused(vec![0xFF; 18]),
        "`mask` must be one bit for each of 150 environments, padded with zeros; got `18 bytes`"
    );
    let beyond = "`mask` must be one bit for each of 150 environments, padded with zeros; got `1 in bit 151`";
    let mut last = mask(|_| true).to_vec();
    last[18] |= 1 << 7;
    assert_eq!(refused(last), beyond);
}

#[test]
fn a_repeated_request_has_the_same_mask() {
    let batch = open(&table("faraway", 2), &config(&["agent", "random"]), N, 0, 1);
    let indices = Bytes::from(choices(&reset(&batch), 0, 0));
    let step = |mask| wait(batch.step(0, 0, Actions { indices: indices.clone(), mask }, Some(2)));
    let first = step(mask(|index| index < 9)).expect("the sequence number is the next one");
    assert_eq!(step(mask(|index| index < 9)), Ok(first));
    assert_eq!(step(mask(|index| index < 8)), Err(Error::SequenceStale { expected: 3, sequence: 2 }));
}
