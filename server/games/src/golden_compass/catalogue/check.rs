//! From rows to the catalogue: set-up, periods, path, wheel and tiles.
//!
//! What cannot be is refused by row and field. Cards, tokens and characters are read by [`super::faces`].

use boardwire_kernel::{CatalogueError, Provenance};
use serde_json::Value;

use super::super::limits::{
    ADVANCE, AXES, CARDS, CITIES, CITY_SPACES, CITY_TOKENS, COMPASS, HAND, PERIODS, SEATS, SMALL_TILES,
    TILE_VALUES, TILES, TILES_EACH, VALUE, WEIGHTS,
};
use super::effects::Program;
use super::raw::{self, Rows};
use super::{Axis, Blue, Catalogue, City, faces};

pub(super) type Check<T = ()> = Result<T, CatalogueError>;

pub(super) fn refuse<T>(place: impl Into<String>, problem: impl Into<String>) -> Check<T> {
    Err(CatalogueError::new(place, problem))
}

pub(super) fn require(holds: bool, place: impl Into<String>, problem: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { refuse(place, problem()) }
}

pub(super) fn within<T: PartialOrd + Copy + std::fmt::Display>(
    place: impl Into<String>,
    value: T,
    min: T,
    max: T,
) -> Check {
    require(value >= min && value <= max, place, || format!("is {value}, not {min} to {max}"))
}

/// Sections that describe the file and hold no rules.
const NO_RULES: [&str; 5] = ["schema", "provenance", "review_facts", "validation", "design_notes"];

/// Where each section says its values were read.
fn provenance(file: &Value) -> Vec<Provenance> {
    let sections = file.as_object().into_iter().flatten();
    sections
        .filter(|(name, section)| section.is_object() && !NO_RULES.contains(&name.as_str()))
        .map(|(name, section)| Provenance {
            section: name.clone(),
            source: section.get("source").and_then(Value::as_str).unwrap_or("not stated").to_owned(),
        })
        .collect()
}

/// Reads a catalogue.
pub(super) fn catalogue(json: &str) -> Check<Catalogue> {
    let file: Value =
        serde_json::from_str(json).map_err(|error| CatalogueError::new("catalogue", error.to_string()))?;
    let rows = raw::read(&file)?;
    require(rows.format == "golden_compass_catalogue", "format", || {
        format!("is {:?}, not \"golden_compass_catalogue\"", rows.format)
    })?;
    within("format_version", rows.format_version, 1, 1)?;
    rules_values(&rows)?;
    if let Some(turns) = rows.rulings.stall_guard_turns {
        within("rulings.stall_guard_turns", turns, 1, 1000)?;
    }
    let values = &rows.rules_values;
    let (periods, mut cities) = periods(&rows)?;
    let objectives = path(&rows, &periods, &mut cities)?;
    let tokens = faces::tokens(&rows, &mut cities)?;
    let (cards, daemons, symbols) = faces::cards(&rows)?;
    let mut program = Program::default();
    let characters = faces::characters(&rows, &periods, &mut program)?;
    let catalogue = Catalogue {
        sections: provenance(&file),
        seats: (rows.setup.min_players, rows.setup.max_players),
        starting_hand: rows.setup.starting_hand,
        decks: decks(&rows)?,
        hand_limit: values.hand_limit,
        triplet_compass: values.symbol_triplet_compass,
        action_compass: values.alethiometer_action_compass,
        tiles_drawn: values.truth_tiles_drawn,
        tiles_each: values.truth_tiles_per_player,
        ransom: values.airship_extra_cards,
        compass: rows.components.compass_tiles_per_player,
        dust: small_tiles("dust_tiles", rows.dust_tiles.count, rows.components.dust_tiles)?,
        passages: small_tiles("passage_tiles", rows.passage_tiles.count, rows.components.passage_tiles)?,
        periods,
        cities,
        objectives,
        axes: axes(&rows)?,
        daemons,
        symbols,
        cards,
        tokens,
        tiles: tiles(&rows)?,
        characters,
        ops: program.ops,
        options: program.options,
        guard: rows.rulings.stall_guard_turns,
    };
    let room = usize::from(catalogue.hand_limit + catalogue.gain());
    within("rules_values.hand_limit (with the largest gain of cards)", room, 1, HAND)?;
    Ok(catalogue)
}

/// Set-up and the values of the rules; those that the rules fix must be what they are.
fn rules_values(rows: &Rows) -> Check {
    let (setup, values) = (&rows.setup, &rows.rules_values);
    within("setup.max_players", usize::from(setup.max_players), 2, SEATS)?;
    within("setup.min_players", setup.min_players, 2, setup.max_players)?;
    for (place, value, fixed) in [
        ("setup.characters_dealt", setup.characters_dealt, 2),
        ("setup.characters_kept", setup.characters_kept, 1),
        ("rules_values.daemon_pair_size", values.daemon_pair_size, 2),
        ("rules_values.daemon_pair_tokens", values.daemon_pair_tokens, 1),
        ("rules_values.symbol_triplet_size", values.symbol_triplet_size, 3),
        ("rules_values.spy_pair_size", values.spy_pair_size, 2),
        ("rules_values.spy_pair_steals", values.spy_pair_steals, 1),
        ("rules_values.dust_action_tiles", values.dust_action_tiles, 1),
        ("rules_values.airship_truth_tiles_lost", values.airship_truth_tiles_lost, 1),
    ] {
        require(value == fixed, place, || format!("is {value}, but the rules fix it at {fixed}"))?;
    }
    let in_rules = |field: &str| format!("rules_values.{field}");
    within(in_rules("hand_limit"), values.hand_limit, 3, 12)?;
    within("setup.starting_hand", setup.starting_hand, 0, values.hand_limit)?;
    let compass = rows.components.compass_tiles_per_player;
    within("components.compass_tiles_per_player", compass, 1, COMPASS)?;
    within(in_rules("symbol_triplet_compass"), values.symbol_triplet_compass, 1, COMPASS)?;
    within(in_rules("alethiometer_action_compass"), values.alethiometer_action_compass, 1, COMPASS)?;
    within(in_rules("truth_tiles_per_player"), values.truth_tiles_per_player, 1, TILES_EACH)?;
    within(in_rules("airship_extra_cards"), values.airship_extra_cards, 0, values.hand_limit)?;
    let drafted = values.truth_tiles_per_player * setup.max_players;
    within(in_rules("truth_tiles_drawn"), values.truth_tiles_drawn, drafted, 24)
}

fn periods(rows: &Rows) -> Check<(Vec<String>, Vec<City>)> {
    let list = &rows.periods.list;
    within("periods.list (their number)", list.len(), PERIODS, PERIODS)?;
    let mut cities: Vec<City> = Vec::new();
    for (row, period) in list.iter().enumerate() {
        let place = |field: &str| format!("periods.list[{row}].{field}");
        let collects = row + 1 < PERIODS;
        require(period.collects_experience == collects, place("collects_experience"), || {
            format!("must be {collects}: tokens are collected in the first two periods")
        })?;
        require(period.places_experience != collects, place("places_experience"), || {
            format!("must be {}: tokens are laid out in the last period", !collects)
        })?;
        within(place("cities (their number)"), period.cities.len(), 2, 2)?;
        let slots = period.experience_slots_per_city;
        within(place("experience_slots_per_city"), usize::from(slots), 1, CITY_TOKENS)?;
        let twice = list[..row].iter().any(|other| other.id == period.id);
        require(!twice, place("id"), || format!("{} stands twice", period.id))?;
        for id in &period.cities {
            let twice = cities.iter().any(|city| city.id == *id);
            require(!twice, place("cities"), || format!("{id} stands twice"))?;
            let Some(name) = rows.periods.city_names.get(id) else {
                return refuse(format!("periods.city_names.{id}"), "the name is missing");
            };
            cities.push(City { id: id.clone(), name: name.clone(), spaces: (0, 0), tokens: 0, slots });
        }
    }
    Ok((list.iter().map(|period| period.id.clone()).collect(), cities))
}

/// Fills in the spaces of the cities and returns the places of the objectives.
fn path(rows: &Rows, periods: &[String], cities: &mut [City]) -> Check<[u8; PERIODS]> {
    let segments = &rows.path.segments;
    let expected = 1 + CITIES + PERIODS;
    within("path.segments (their number)", segments.len(), expected, expected)?;
    let mut objectives = [0; PERIODS];
    let mut at = 0;
    for (row, segment) in segments.iter().enumerate() {
        let place = |field: &str| format!("path.segments[{row}].{field}");
        let (period, part) = (row.saturating_sub(1) / 3, row.saturating_sub(1) % 3);
        match segment {
            raw::Segment::Start if row == 0 => {}
            raw::Segment::City { city, spaces } if row > 0 && part < 2 => {
                let here = &mut cities[period * 2 + part];
                require(*city == here.id, place("city"), || {
                    format!("is {city}, but {} comes next", here.id)
                })?;
                within(place("spaces"), *spaces, 1, CITY_SPACES)?;
                here.spaces = (at + 1, at + spaces);
                at += spaces;
            }
            raw::Segment::Objective { period: id } if row > 0 && part == 2 => {
                let next = &periods[period];
                require(id == next, place("period"), || format!("is {id}, but {next} comes next"))?;
                at += 1;
                objectives[period] = at;
            }
            _ => {
                let order = "the order is start, then city, city, objective for each period";
                return refuse(place("kind"), order);
            }
        }
    }
    Ok(objectives)
}

fn axes(rows: &Rows) -> Check<Vec<Axis>> {
    let list = &rows.wheel.axes;
    within("wheel.axes (their number)", list.len(), 1, AXES)?;
    let mut axes = Vec::new();
    for (row, axis) in list.iter().enumerate() {
        let place = |field: &str| format!("wheel.axes[{row}].{field}");
        within(place("red.draw"), axis.red.draw, 2, 3)?;
        within(place("red.advance"), axis.red.advance, 0, ADVANCE)?;
        within(place("weight"), axis.weight, 1, WEIGHTS)?;
        let blue = match axis.blue.as_str() {
            "alethiometer" => Blue::Alethiometer,
            "magisterium" => Blue::Magisterium,
            "ally" => Blue::Ally,
            "dust" => Blue::Dust,
            "free_choice" => Blue::FreeChoice,
            other => return refuse(place("blue"), format!("{other} is no light-blue symbol")),
        };
        axes.push(Axis { draw: axis.red.draw, advance: axis.red.advance, blue, weight: axis.weight });
    }
    within("wheel.axes (sum of weight)", axes.iter().map(|axis| axis.weight).sum(), 1, WEIGHTS)?;
    let moves = axes.iter().any(|axis| axis.advance > 0);
    require(moves, "wheel.axes", || "at least one red.advance must be above 0".into())?;
    Ok(axes)
}

fn decks(rows: &Rows) -> Check<[u8; SEATS + 1]> {
    let mut decks = [0; SEATS + 1];
    for seats in rows.setup.min_players..=rows.setup.max_players {
        let place = format!("setup.lyra_deck_copies.{seats}");
        let Some(&copies) = rows.setup.lyra_deck_copies.get(&seats.to_string()) else {
            return refuse(place, "the number of decks is missing");
        };
        within(place.as_str(), u32::from(copies), 1, rows.components.lyra_decks)?;
        let per_deck = usize::try_from(rows.components.lyra_cards_per_deck).unwrap_or(CARDS);
        let cards = per_deck.saturating_mul(usize::from(copies));
        require(cards <= CARDS, place.as_str(), || format!("{cards} cards, more than {CARDS}"))?;
        let hands = usize::from(seats) * usize::from(rows.rules_values.hand_limit);
        require(hands < cards, place, || format!("full hands would hold {hands} of {cards} cards"))?;
        decks[usize::from(seats)] = copies;
    }
    Ok(decks)
}

fn tiles(rows: &Rows) -> Check<Vec<(u8, u8)>> {
    let list = &rows.truth_tiles.tiles;
    within("truth_tiles.tiles (their number)", list.len(), 1, TILE_VALUES)?;
    for (row, tile) in list.iter().enumerate() {
        let place = |field: &str| format!("truth_tiles.tiles[{row}].{field}");
        within(place("value"), tile.value, 0, VALUE)?;
        require(tile.count > 0, place("count"), || "is 0".into())?;
        let twice = list[..row].iter().any(|other| other.value == tile.value);
        require(!twice, place("value"), || format!("{} stands twice", tile.value))?;
    }
    let sum: u32 = list.iter().map(|tile| u32::from(tile.count)).sum();
    let expected = rows.components.truth_tiles;
    require(sum == expected, "truth_tiles.tiles (sum of count)", || {
        format!("is {sum}, but components.truth_tiles is {expected}")
    })?;
    let drawn = 3 * u32::from(rows.rules_values.truth_tiles_drawn);
    within("truth_tiles.tiles (sum of count)", sum, drawn, TILES)?;
    let mut tiles: Vec<_> = list.iter().map(|tile| (tile.value, tile.count)).collect();
    tiles.sort_unstable();
    Ok(tiles)
}

fn small_tiles(section: &str, count: u8, expected: u8) -> Check<u8> {
    let place = format!("{section}.count");
    within(place.as_str(), count, 0, SMALL_TILES)?;
    require(count == expected, place, || format!("is {count}, but components.{section} is {expected}"))?;
    Ok(count)
}
