//! Effects in words and as table columns.

use super::pieces::{ANIMALS, Effect, Per};

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
