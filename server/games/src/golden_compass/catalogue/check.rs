//! Converts rows into the catalogue: set-up, periods, path, wheel and tiles.
//!
//! Invalid values are rejected by row and field. [`super::faces`] reads cards, tokens and characters.

use boardwire_kernel::catalogue::{
    CatalogueResult, check_equals, check_range, read, refuse, require, unique,
};
use boardwire_kernel::{Components, Provenance};
use serde_json::Value;

use super::super::limits::{
    AXES, CARDS, CITIES, CITY_SPACES, HAND, MAX_SEATS, PERIODS, TILE_VALUES, TILES, WEIGHTS, byte,
};
use super::effects::EffectLists;
use super::rows::{Rows, Segment};
use super::{Axis, CardType, Catalogue, City, Tiles, TokenSet, faces};

/// Sections that describe the file and contain no rules.
const NO_RULES: [&str; 5] = ["schema", "provenance", "review_facts", "validation", "design_notes"];

/// Returns the source of each section, as the section states it.
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

impl Components for Catalogue {
    fn read(json: &str) -> CatalogueResult<Self> {
        let rows: Rows = read(json)?;
        require(rows.format == "golden_compass_catalogue", "format", || {
            format!("is {:?}, not \"golden_compass_catalogue\"", rows.format)
        })?;
        check_equals("format_version", rows.format_version, 1)?;
        rules_values(&rows)?;
        if let Some(turns) = rows.rulings.stall_guard_turns {
            check_range("rulings.stall_guard_turns", turns, 1, 1000)?;
        }
        let values = &rows.rules_values;
        let (periods, mut cities) = periods(&rows)?;
        let objectives = path(&rows, &periods, &mut cities)?;
        let tokens = faces::tokens(&rows, &mut cities)?;
        let (cards, daemons, symbols) = faces::cards(&rows)?;
        let mut lists = EffectLists::default();
        let characters = faces::characters(&rows, &periods, &mut lists)?;
        let catalogue = Catalogue {
            sections: provenance(&read(json)?),
            seats: (rows.setup.min_players.get(), rows.setup.max_players.get()),
            starting_hand: rows.setup.starting_hand,
            decks: decks(&rows, &cards)?,
            hand_limit: values.hand_limit.get(),
            triplet_compass: values.symbol_triplet_compass.get(),
            action_compass: values.alethiometer_action_compass.get(),
            tiles_drawn: values.truth_tiles_drawn,
            tiles_each: values.truth_tiles_per_player.get(),
            airship_extra_cards: values.airship_extra_cards,
            compass: rows.components.compass_tiles_per_player.get(),
            dust: rows.dust_tiles.count.get(),
            passages: rows.passage_tiles.count.get(),
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
            ops: lists.ops,
            options: lists.options,
            guard: rows.rulings.stall_guard_turns,
        };
        let places = usize::from(catalogue.hand_places());
        check_range("rules_values.hand_limit (with the largest gain of cards)", places, 1, HAND)?;
        Ok(catalogue)
    }

    fn provenance(&self) -> Vec<Provenance> {
        self.sections.clone()
    }
}

/// Checks the set-up and the values of the rules. A value that the rules fix must equal the fixed value.
fn rules_values(rows: &Rows) -> CatalogueResult {
    let (setup, values) = (&rows.setup, &rows.rules_values);
    let (minimum, maximum) = (setup.min_players.get(), setup.max_players.get());
    check_range("setup.min_players", minimum, 2, maximum)?;
    for (place, value, due) in [
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
        check_equals(place, value, due)?;
    }
    let limit = values.hand_limit.get();
    check_range("setup.starting_hand", setup.starting_hand, 0, limit)?;
    check_range("rules_values.airship_extra_cards", values.airship_extra_cards, 0, limit)?;
    let drafted = values.truth_tiles_per_player.get() * maximum;
    check_range("rules_values.truth_tiles_drawn", values.truth_tiles_drawn, drafted, 24)?;
    Ok(())
}

fn periods(rows: &Rows) -> CatalogueResult<(Vec<String>, Vec<City>)> {
    let list = &rows.periods.list;
    check_equals("periods.list (length)", list.len(), PERIODS)?;
    unique("periods.list", "id", list, |period| period.id.clone())?;
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
        check_equals(place("cities (length)"), period.cities.len(), 2)?;
        for (at, id) in period.cities.iter().enumerate() {
            let twice = cities.iter().any(|city| city.id == *id);
            require(!twice, place("cities"), || format!("{id} is listed twice"))?;
            let Some(name) = rows.periods.city_names.get(id) else {
                return refuse(format!("periods.city_names.{id}"), "the name is missing");
            };
            // Actions name the backs of tokens by their cities, so these names must differ.
            let known = if collects { cities.iter().position(|city| city.name == *name) } else { None };
            if let Some(first) = known {
                let other = &cities[first].id;
                let place = format!("periods.list[{row}].cities[{at}]");
                return refuse(place, format!("{id} is called {name:?}, as is {other} in city_names"));
            }
            let slots = period.experience_slots_per_city.get();
            let city =
                City { id: id.clone(), name: name.clone(), spaces: (0, 0), tokens: TokenSet::EMPTY, slots };
            cities.push(city);
        }
    }
    Ok((list.iter().map(|period| period.id.clone()).collect(), cities))
}

/// Sets the spaces of the cities. Returns the positions of the objectives.
fn path(rows: &Rows, periods: &[String], cities: &mut [City]) -> CatalogueResult<[u8; PERIODS]> {
    let segments = &rows.path.segments;
    check_equals("path.segments (length)", segments.len(), 1 + CITIES + PERIODS)?;
    let mut objectives = [0; PERIODS];
    let mut at = 0;
    for (row, segment) in segments.iter().enumerate() {
        let place = |field: &str| format!("path.segments[{row}].{field}");
        let (period, part) = (row.saturating_sub(1) / 3, row.saturating_sub(1) % 3);
        match segment {
            Segment::Start if row == 0 => {}
            Segment::City { city, spaces } if row > 0 && part < 2 => {
                let here = &mut cities[period * 2 + part];
                require(*city == here.id, place("city"), || format!("is {city}; expected {}", here.id))?;
                check_range(place("spaces"), *spaces, 1, CITY_SPACES)?;
                here.spaces = (at + 1, at + spaces);
                at += spaces;
            }
            Segment::Objective { period: id } if row > 0 && part == 2 => {
                let next = &periods[period];
                require(id == next, place("period"), || format!("is {id}; expected {next}"))?;
                at += 1;
                objectives[period] = at;
            }
            Segment::Start | Segment::City { .. } | Segment::Objective { .. } => {
                let order = "the order is start, then city, city, objective for each period";
                return refuse(place("kind"), order);
            }
        }
    }
    Ok(objectives)
}

fn axes(rows: &Rows) -> CatalogueResult<Vec<Axis>> {
    let list = &rows.wheel.axes;
    check_range("wheel.axes (length)", list.len(), 1, AXES)?;
    let mut axes = Vec::new();
    for (row, axis) in list.iter().enumerate() {
        let weight = check_range(format!("wheel.axes[{row}].weight"), axis.weight, 1, WEIGHTS)?;
        let (draw, advance) = (axis.red.draw.get(), axis.red.advance.get());
        axes.push(Axis { draw, advance, blue: axis.blue, weight });
    }
    check_range("wheel.axes (sum of weight)", axes.iter().map(|axis| axis.weight).sum(), 1, WEIGHTS)?;
    let moves = axes.iter().any(|axis| axis.advance > 0);
    require(moves, "wheel.axes", || "at least one red.advance must be above 0".into())?;
    Ok(axes)
}

fn decks(rows: &Rows, cards: &[CardType]) -> CatalogueResult<[u8; MAX_SEATS + 1]> {
    let mut decks = [0; MAX_SEATS + 1];
    for seats in rows.setup.min_players.get()..=rows.setup.max_players.get() {
        let place = format!("setup.lyra_deck_copies.{seats}");
        let Some(&copies) = rows.setup.lyra_deck_copies.get(&seats.to_string()) else {
            return refuse(place, "the number of decks is missing");
        };
        let cards: u32 = cards.iter().map(|card| u32::from(card.count) * u32::from(copies)).sum();
        check_range(place.as_str(), cards, 1, byte(CARDS).into())?;
        let hands = u32::from(seats) * u32::from(rows.rules_values.hand_limit.get());
        require(hands < cards, place, || format!("full hands would hold {hands} of {cards} cards"))?;
        decks[usize::from(seats)] = copies;
    }
    Ok(decks)
}

fn tiles(rows: &Rows) -> CatalogueResult<Vec<Tiles>> {
    let list = &rows.truth_tiles.tiles;
    check_range("truth_tiles.tiles (length)", list.len(), 1, TILE_VALUES)?;
    unique("truth_tiles.tiles", "value", list, |tile| tile.value.get())?;
    let sum = list.iter().map(|tile| u32::from(tile.count.get())).sum();
    let drawn = 3 * u32::from(rows.rules_values.truth_tiles_drawn);
    check_range("truth_tiles.tiles (sum of count)", sum, drawn, TILES)?;
    let mut tiles: Vec<_> =
        list.iter().map(|tile| Tiles { value: tile.value.get(), count: tile.count.get() }).collect();
    tiles.sort_unstable_by_key(|tile| tile.value);
    Ok(tiles)
}
