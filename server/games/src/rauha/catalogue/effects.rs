//! Effects: each kind has values of its own.

use super::check::{Checked, refuse, within, word};
use super::rows::EffectRow;
use crate::rauha::pieces::{Effect, Per};

const KINDS: [&str; 7] = ["none", "gain", "score", "points_per", "buy_points", "buy_spore", "passive_water"];
const PERS: [&str; 6] = ["flying", "land", "marine", "spore", "water", "best_animal"];
/// No printed number is larger.
const MOST: u8 = 20;

/// Reads an effect, which has exactly the values its kind needs.
pub(super) fn effect(place: &str, row: &EffectRow) -> Checked<Effect> {
    let due: &[&str] = match word(&format!("{place}.kind"), &row.kind, &KINDS)? {
        0 => &[],
        1 => &["crystals"],
        2 => &["points"],
        3 => &["per", "points"],
        4 => &["cost", "points"],
        5 => &["cost", "spores"],
        _ => &["water"],
    };
    let given = [
        ("crystals", row.crystals.is_some()),
        ("points", row.points.is_some()),
        ("per", row.per.is_some()),
        ("cost", row.cost.is_some()),
        ("spores", row.spores.is_some()),
        ("water", row.water.is_some()),
    ];
    for (field, given) in given {
        let place = format!("{place}.{field}");
        match (given, due.contains(&field)) {
            (true, false) => return refuse(&place, format!("an effect `{}` has none", row.kind)),
            (false, true) => return refuse(&place, "missing"),
            _ => {}
        }
    }
    let number =
        |field: &str, value: Option<i64>| within(&format!("{place}.{field}"), value.unwrap_or(0), 1..=MOST);
    Ok(match row.kind.as_str() {
        "gain" => Effect::Gain(number("crystals", row.crystals)?),
        "score" => Effect::Score(number("points", row.points)?),
        "points_per" => {
            let per = per(&format!("{place}.per"), row.per.as_deref().unwrap_or(""))?;
            Effect::PointsPer(per, number("points", row.points)?)
        }
        "buy_points" => {
            Effect::BuyPoints { cost: number("cost", row.cost)?, points: number("points", row.points)? }
        }
        "buy_spore" => {
            within(&format!("{place}.spores"), row.spores.unwrap_or(0), 1..=1)?;
            Effect::BuySpore { cost: number("cost", row.cost)? }
        }
        "passive_water" => Effect::Water(number("water", row.water)?),
        _ => Effect::None,
    })
}

fn per(place: &str, name: &str) -> Checked<Per> {
    Ok(match word(place, name, &PERS)? {
        animal @ 0..=2 => Per::Animal(animal),
        3 => Per::Spore,
        4 => Per::Water,
        _ => Per::BestAnimal,
    })
}
