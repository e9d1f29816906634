//! Reads the facts of a table from its description, for pictures of games that this process may not have.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use boardwire_api::v1;
use boardwire_kernel::{
    ActionSpace, ActionSpec, Axis, AxisOrder, Column, ColumnKind, Digest, Field, FieldKind, GameInfo,
    MAX_SEATS, Options, Table, ViewLayout,
};

/// Returns the facts of the table that [`spec`](super::spec) describes, as far as views depend on them: seats, actions,
/// layouts and tables.
///
/// # Errors
/// The description contradicts itself. The text is the reason.
pub fn table_facts(spec: &v1::GameSpec) -> Result<GameInfo, String> {
    let seats = u8::try_from(spec.seats).ok().filter(|seats| (1..=MAX_SEATS).contains(&usize::from(*seats)));
    let seats = seats.ok_or_else(|| format!("a table has 1 to {MAX_SEATS} seats; got {}", spec.seats))?;
    let tables = spec.tables.iter().map(table).collect::<Result<Vec<_>, _>>()?;
    let layout = |fields: &[v1::ViewField]| {
        let fields = fields.iter().map(|field| self::field(field, seats, &tables));
        Ok::<_, String>(ViewLayout { fields: fields.collect::<Result<_, _>>()? })
    };
    Ok(GameInfo {
        id: name(spec.game.as_ref().map_or("", |game| &game.id)),
        rules_version: 0,
        catalogue: Digest::of_bytes(&[]),
        seats,
        options: Options::default(),
        actions: ActionSpace::of(spec.actions.iter().map(action).collect::<Result<_, _>>()?),
        max_plies: spec.max_plies,
        layout: layout(&spec.fields)?,
        public_layout: layout(&spec.public_fields)?,
        tables,
        scores: (spec.min_score, spec.max_score),
    })
}

/// Returns a copy of a name that lives as long as the process, as those of games do. Equal names share a copy.
fn name(text: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(text) {
        return known;
    }
    let name: &'static str = Box::leak(text.into());
    names.insert(name);
    name
}

/// Returns the name of a table that is named, else none.
fn table_name(text: &str) -> Option<&'static str> {
    if text.is_empty() { None } else { Some(name(text)) }
}

/// Returns a number in the size that games use.
fn number<T: TryFrom<V>, V: Copy + std::fmt::Display>(what: &str, value: V) -> Result<T, String> {
    T::try_from(value).map_err(|_| format!("{what} is too large: {value}"))
}

fn action(message: &v1::Action) -> Result<ActionSpec, String> {
    Ok(ActionSpec {
        label: message.label.clone(),
        verb: name(&message.verb),
        table: table_name(&message.table),
        row: number("the row of an action", message.row)?,
    })
}

fn table(message: &v1::ComponentTable) -> Result<Table, String> {
    let column = |column: &v1::Column| {
        let kind = match column.kind() {
            v1::ValueKind::Id => ColumnKind::Id { table: name(&column.table) },
            v1::ValueKind::Count => ColumnKind::Count,
            v1::ValueKind::Flag => ColumnKind::Flag,
            v1::ValueKind::Category => ColumnKind::Category { names: column.names.clone() },
            v1::ValueKind::Seat | v1::ValueKind::Unspecified => {
                return Err(format!("column {} has an unknown kind", column.name));
            }
        };
        Ok(Column { name: column.name.clone(), kind })
    };
    let columns = message.columns.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    let (width, rows) = (columns.len(), message.rows as usize);
    if width.checked_mul(rows) != Some(message.values.len()) {
        return Err(format!("table {} has {} values for {rows} rows", message.name, message.values.len()));
    }
    let values = message.values.iter().map(|value| number("a value of a table", *value));
    let values = values.collect::<Result<Vec<i16>, _>>()?;
    let rows = (0..rows).map(|row| values[row * width..(row + 1) * width].to_vec()).collect();
    Ok(Table { name: name(&message.name), columns, rows })
}

fn field(message: &v1::ViewField, seats: u8, tables: &[Table]) -> Result<Field, String> {
    let kind = match message.kind() {
        v1::ValueKind::Id => FieldKind::Id { table: name(&message.table) },
        v1::ValueKind::Count => FieldKind::Count,
        v1::ValueKind::Flag => FieldKind::Flag,
        v1::ValueKind::Seat => FieldKind::Seat,
        v1::ValueKind::Category => FieldKind::Category { names: message.names.clone() },
        v1::ValueKind::Unspecified => return Err(format!("field {} has an unknown kind", message.name)),
    };
    let field = Field {
        name: name(&message.name),
        axes: message.axes.iter().map(axis).collect::<Result<_, _>>()?,
        max: number("the maximum of a field", message.max)?,
        usual_max: number("the usual maximum of a field", message.usual_max)?,
        copies: number("the number of copies of a field", message.copies)?,
        kind,
        doc: "",
    };
    if let FieldKind::Id { table } = &field.kind
        && !tables.iter().any(|known| known.name == *table && usize::from(field.max) < known.rows.len())
    {
        return Err(format!("field {} names rows that table {table} does not have", field.name));
    }
    match field.axes.first().filter(|axis| axis.is_of_seats()) {
        Some(axis) if axis.size > seats.into() => Err(format!("field {} has too many seats", field.name)),
        _ => Ok(field),
    }
}

fn axis(message: &v1::Axis) -> Result<Axis, String> {
    let order = match message.order() {
        v1::AxisOrder::None => AxisOrder::None,
        v1::AxisOrder::Sequence => AxisOrder::Sequence,
        v1::AxisOrder::Places | v1::AxisOrder::Unspecified => AxisOrder::Places,
    };
    let size = number("an axis", message.size)?;
    Ok(Axis { name: name(&message.name), size, order, table: table_name(&message.table) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::spec;
    use crate::registry::Registry;
    use crate::tables::Tables;

    fn description(game: &str) -> (v1::GameSpec, GameInfo) {
        let tables = Tables::new(Registry::standard());
        let facts = tables.game_facts(game).expect("a game");
        let table = tables.table(game, (*facts.game_type.seats.end()).into(), []).expect("a table");
        (spec(&facts, &table), table.game.info().clone())
    }

    #[test]
    fn the_description_of_a_table_has_its_facts() {
        for game in Registry::standard().ids() {
            let (spec, info) = description(game);
            let read = table_facts(&spec).expect("a valid description");
            let without_text = |layout: &ViewLayout| {
                let fields = layout.fields.iter().map(|field| Field { doc: "", ..field.clone() });
                fields.collect::<Vec<_>>()
            };
            assert_eq!((read.id, read.seats, &read.actions), (info.id, info.seats, &info.actions));
            assert_eq!(read.layout.fields, without_text(&info.layout));
            assert_eq!(read.public_layout.fields, without_text(&info.public_layout));
            assert_eq!(read.tables, info.tables);
        }
    }

    #[test]
    fn a_description_that_contradicts_itself_is_refused() {
        type Damage = fn(&mut v1::GameSpec);
        let damages: [(Damage, &str); 6] = [
            (|spec| spec.seats = 9, "1 to 8 seats; got 9"),
            (|spec| spec.tables.clear(), "that table"),
            (|spec| spec.tables[0].rows += 1, "values for"),
            (|spec| spec.actions[0].row = 256, "too large: 256"),
            (|spec| spec.fields[0].kind = 0, "unknown kind"),
            (|spec| spec.seats = 1, "too many seats"),
        ];
        for (damage, part) in damages {
            let (mut spec, _) = description("faraway");
            damage(&mut spec);
            let error = table_facts(&spec).err().unwrap_or_default();
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
