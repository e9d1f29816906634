//! Effects: each kind has its own fields.

use boardwire_kernel::catalogue::{CatalogueResult, refuse};

use super::pieces::Effect;
use super::rows::{EffectKind, EffectRow};

/// Returns the value of a required field.
fn required_field<T: Copy>(place: &str, field: &str, value: Option<T>) -> CatalogueResult<T> {
    value.map_or_else(|| refuse(format!("{place}.{field}"), "missing"), Ok)
}

/// Reads an effect. The row must have exactly the fields of its kind.
pub(super) fn effect(place: &str, row: &EffectRow) -> CatalogueResult<Effect> {
    let number = |field, value: Option<super::rows::Value>| Ok(required_field(place, field, value)?.get());
    let (fields, effect): (&[&str], _) = match row.kind {
        EffectKind::None => (&[], Effect::None),
        EffectKind::Gain => (&["crystals"], Effect::Gain(number("crystals", row.crystals)?)),
        EffectKind::Score => (&["points"], Effect::Score(number("points", row.points)?)),
        EffectKind::PointsPer => {
            let per = required_field(place, "per", row.per)?;
            (&["per", "points"], Effect::PointsPer(per, number("points", row.points)?))
        }
        EffectKind::BuyPoints => {
            let (cost, points) = (number("cost", row.cost)?, number("points", row.points)?);
            (&["cost", "points"], Effect::BuyPoints { cost, points })
        }
        EffectKind::BuySpore => {
            required_field(place, "spores", row.spores)?;
            (&["cost", "spores"], Effect::BuySpore { cost: number("cost", row.cost)? })
        }
        EffectKind::PassiveWater => (&["water"], Effect::Water(number("water", row.water)?)),
    };
    let given = [
        ("crystals", row.crystals.is_some()),
        ("points", row.points.is_some()),
        ("per", row.per.is_some()),
        ("cost", row.cost.is_some()),
        ("spores", row.spores.is_some()),
        ("water", row.water.is_some()),
    ];
    match given.into_iter().find(|(field, is_given)| *is_given && !fields.contains(field)) {
        Some((field, _)) => refuse(
            format!("{place}.{field}"),
            format!("remove it: this effect kind has the fields {fields:?}"),
        ),
        None => Ok(effect),
    }
}
