//! Effects: from the catalogue's rows, and into words and table columns.

use boardwire_kernel::CatalogueError;

use super::catalogue::{refuse, within, word};
use super::pieces::{ANIMALS, Effect, Per};
use super::rows::EffectRow;

const KINDS: [&str; 7] = [
    "none",
    "gain",
    "score",
    "points_per",
    "buy_points",
    "buy_spore",
    "passive_water",
];
const PERS: [&str; 6] = ["flying", "land", "marine", "spore", "water", "best_animal"];
/// No printed number is larger.
const MOST: u8 = 20;

/// Reads an effect, which has exactly the values its kind needs.
pub(super) fn effect(place: &str, row: &EffectRow) -> Result<Effect, CatalogueError> {
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
        "buy_points" => Effect::BuyPoints {
            cost: number("cost", row.cost)?,
            points: number("points", row.points)?,
        },
        "buy_spore" => {
            within(&format!("{place}.spores"), row.spores.unwrap_or(0), 1..=1)?;
            Effect::BuySpore {
                cost: number("cost", row.cost)?,
            }
        }
        "passive_water" => Effect::Water(number("water", row.water)?),
        _ => Effect::None,
    })
}

fn per(place: &str, name: &str) -> Result<Per, CatalogueError> {
    Ok(match word(place, name, &PERS)? {
        animal @ 0..=2 => Per::Animal(animal),
        3 => Per::Spore,
        4 => Per::Water,
        _ => Per::BestAnimal,
    })
}

/// The columns of a table that say what an effect does; unused ones are 0.
pub(super) const COLUMNS: [&str; 13] = [
    "gain_crystals",
    "gain_points",
    "points_per_flying",
    "points_per_land",
    "points_per_marine",
    "points_per_spore",
    "points_per_water",
    "points_per_best_animal",
    "pay_crystals",
    "bought_points",
    "bought_spores",
    "held_water",
    "can_be_activated",
];

/// The values of [`COLUMNS`] for an effect.
pub(super) fn columns(effect: Effect) -> [i16; 13] {
    let mut row = [0; 13];
    row[12] = i16::from(!matches!(effect, Effect::None | Effect::Water(_)));
    match effect {
        Effect::None => {}
        Effect::Gain(crystals) => row[0] = crystals.into(),
        Effect::Score(points) => row[1] = points.into(),
        Effect::PointsPer(per, points) => {
            let column = match per {
                Per::Animal(kind) => 2 + usize::from(kind),
                Per::Spore => 5,
                Per::Water => 6,
                Per::BestAnimal => 7,
            };
            row[column] = points.into();
        }
        Effect::BuyPoints { cost, points } => (row[8], row[9]) = (cost.into(), points.into()),
        Effect::BuySpore { cost } => (row[8], row[10]) = (cost.into(), 1),
        Effect::Water(sources) => row[11] = sources.into(),
    }
    row
}

/// An effect in a few words.
pub(super) struct InWords(pub(super) Effect);

impl std::fmt::Display for InWords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Effect::None => f.write_str("no effect"),
            Effect::Gain(crystals) => write!(f, "+{crystals} crystals"),
            Effect::Score(points) => write!(f, "+{points} points"),
            Effect::PointsPer(per, points) => {
                let per = match per {
                    Per::Animal(kind) => ANIMALS[usize::from(kind)],
                    Per::BestAnimal => "best animal",
                    Per::Spore => "Spore",
                    Per::Water => "water",
                };
                write!(f, "+{points} per {per}")
            }
            Effect::BuyPoints { cost, points } => write!(f, "pay {cost}: +{points} points"),
            Effect::BuySpore { cost } => write!(f, "pay {cost}: Spore"),
            Effect::Water(sources) => write!(f, "{sources} water while held"),
        }
    }
}
