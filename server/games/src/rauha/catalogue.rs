//! The catalogue: every biome, Entity and stop, read from JSON and believed only when it can be.

use boardwire_kernel::{CatalogueError, Provenance};

use super::effects::effect;
use super::pieces::{
    ALL_CELLS, ANIMALS, BIOMES, Biome, CARDS, CARDS_OF_AGE, CELLS, ENTITIES, Effect, LINES, PACK, Per, STOPS,
    Side, Stop, Symbol, TYPES, mask, printed,
};
use super::rows;

/// The printed components of Rauha.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Catalogue {
    /// By id; 0 is the none.
    pub(super) biomes: [Biome; BIOMES],
    /// A readable code of each biome, by id.
    pub(super) codes: Vec<String>,
    /// The Entities, by number.
    pub(super) entities: Vec<Entity>,
    /// The stops of the Avatar, in order.
    pub(super) track: [Stop; STOPS as usize],
    /// Points for having 0, 1, ... 5 Water Sources more than the fewest.
    pub(super) water: [u8; 6],
    /// Crystals a seat begins with.
    pub(super) start: u8,
    /// Crystals for a discarded card.
    pub(super) discard: u8,
    provenance: String,
}

/// A Divine Entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entity {
    /// The key in cases and records: `kiteet`.
    pub(super) key: String,
    /// The name on the tile.
    pub(super) name: String,
    /// What must fill a row or a column.
    pub(super) called_by: Symbol,
    /// What activating it does.
    pub(super) effect: Effect,
}

type Checked<T> = Result<T, CatalogueError>;

/// Says what is wrong at a place.
pub(super) fn refuse<T>(place: &str, problem: impl Into<String>) -> Checked<T> {
    Err(CatalogueError::new(place, problem))
}

/// The number, when it lies in the range.
pub(super) fn within(place: &str, value: i64, range: std::ops::RangeInclusive<u8>) -> Checked<u8> {
    u8::try_from(value)
        .ok()
        .filter(|number| range.contains(number))
        .map_or_else(
            || {
                refuse(
                    place,
                    format!(
                        "{value} is not a whole number from {} to {}",
                        range.start(),
                        range.end()
                    ),
                )
            },
            Ok,
        )
}

/// The position of a word among those known.
pub(super) fn word(place: &str, word: &str, known: &[&str]) -> Checked<u8> {
    match (0..).zip(known).find(|(_, name)| **name == word) {
        Some((index, _)) => Ok(index),
        None => refuse(place, format!("`{word}` is none of {}", known.join(", "))),
    }
}

fn exactly(place: &str, value: i64, due: i64) -> Checked<()> {
    if value == due {
        Ok(())
    } else {
        refuse(place, format!("{value}, but the rules need {due}"))
    }
}

fn count(place: &str, given: usize, due: u8, what: &str) -> Checked<()> {
    if given == usize::from(due) {
        Ok(())
    } else {
        refuse(place, format!("{given} {what}, not {due}"))
    }
}

impl Catalogue {
    /// Reads and validates the JSON.
    pub(super) fn read(json: &str) -> Checked<Self> {
        let file: rows::File = serde_json::from_str(json).map_err(|error| {
            let place = format!("line {} column {}", error.line(), error.column());
            CatalogueError::new(place, error.to_string())
        })?;
        exactly("schema_version", file.schema_version, 1)?;
        check_frame(&file)?;
        let entities = entities(&file.entities)?;
        let (biomes, codes) = biomes(&file, &entities)?;
        let catalogue = Self {
            biomes,
            codes,
            entities,
            track: track(&file.track)?,
            water: water_points(&file.water_scoring)?,
            start: within("setup.crystals", file.setup.crystals, 0..=99)?,
            discard: within("discard.crystals", file.discard.crystals, 0..=20)?,
            provenance: file.provenance,
        };
        if catalogue.most_points().max(catalogue.most_crystals()) > 30_000 {
            return refuse(
                "biomes",
                "the effects are so large that a total could exceed 30000",
            );
        }
        Ok(catalogue)
    }

    /// Where the values were read, section by section.
    pub(super) fn provenance(&self) -> Vec<Provenance> {
        ["track", "water_scoring", "entities", "boards", "biomes"]
            .into_iter()
            .map(|section| Provenance {
                section: section.into(),
                source: self.provenance.clone(),
            })
            .collect()
    }

    /// More crystals than any seat can ever hold.
    pub(super) fn most_crystals(&self) -> u32 {
        let gain = |effect| match effect {
            Effect::Gain(crystals) => u32::from(crystals),
            _ => 0,
        };
        let cell = self.biomes.iter().map(|biome| gain(biome.effect)).max();
        let entities = self.entities.iter().map(|entity| gain(entity.effect)).sum();
        let discards = 12 * u32::from(self.discard);
        u32::from(self.start) + discards + activations(cell.unwrap_or(0), entities)
    }

    /// More points than any seat can ever have.
    pub(super) fn most_points(&self) -> u32 {
        let cell = self.biomes.iter().map(|biome| self.most(biome.effect)).max();
        let entities = self.entities.iter().map(|entity| self.most(entity.effect)).sum();
        let water = self.water.iter().max().copied().unwrap_or(0);
        activations(cell.unwrap_or(0), entities) + 4 * u32::from(water)
    }

    /// The most points one activation of an effect can give.
    fn most(&self, effect: Effect) -> u32 {
        let most_of = |what: &dyn Fn(&Biome) -> u8| {
            let most = self.biomes.iter().map(what).max().unwrap_or(0);
            u32::from(CELLS) * u32::from(most)
        };
        match effect {
            Effect::None | Effect::Gain(_) | Effect::BuySpore { .. } | Effect::Water(_) => 0,
            Effect::Score(points) | Effect::BuyPoints { points, .. } => points.into(),
            Effect::PointsPer(per, points) => {
                let things = match per {
                    Per::Animal(_) | Per::BestAnimal => {
                        most_of(&|biome| biome.animals.iter().copied().max().unwrap_or(0))
                    }
                    Per::Spore => CELLS.into(),
                    Per::Water => self.most_water(),
                };
                things * u32::from(points)
            }
        }
    }

    /// More Water Sources than any seat can have.
    pub(super) fn most_water(&self) -> u32 {
        let held = |entity: &Entity| match entity.effect {
            Effect::Water(sources) => u32::from(sources),
            _ => 0,
        };
        let printed = self.biomes.iter().map(|biome| biome.water).max().unwrap_or(0);
        u32::from(CELLS) * u32::from(printed) + self.entities.iter().map(held).sum::<u32>()
    }
}

/// The yield of all activations of a game: 12 turns with three cells each, 4 scorings with nine.
fn activations(cell: u32, entities: u32) -> u32 {
    12 * (3 * cell + entities) + 4 * (9 * cell + entities)
}

/// What the engine's frame needs: numbers of rounds, cards, packs.
fn check_frame(file: &rows::File) -> Checked<()> {
    exactly("game.players.min", file.game.players.min, 2)?;
    exactly("game.players.max", file.game.players.max, 5)?;
    exactly("game.rounds", file.game.rounds, 4)?;
    exactly("game.turns_per_round", file.game.turns_per_round, 3)?;
    exactly("game.ages", file.game.ages, 2)?;
    exactly("components.divine_entities", file.components.divine_entities, 7)?;
    for age in ["age1", "age2"] {
        let place = format!("components.biome_cards.{age}");
        match file.components.biome_cards.get(age) {
            Some(&cards) => exactly(&place, cards, CARDS_OF_AGE.into())?,
            None => return refuse(&place, "missing"),
        }
    }
    exactly("setup.points", file.setup.points, 0)?;
    exactly("setup.spores", file.setup.spores, 0)?;
    exactly("setup.entities", file.setup.entities, 0)?;
    exactly("discard.or_spores", file.discard.or_spores, 1)?;
    exactly("deal.cards_per_satellite", file.deal.cards_per_satellite, 4)?;
    let rounds = [("1", vec![1, 2]), ("2", vec![3, 4])].map(|(age, rounds)| (age.to_owned(), rounds));
    if file.deal.rounds_by_age != rounds.into() {
        return refuse(
            "deal.rounds_by_age",
            "Age 1 is for rounds 1 and 2, Age 2 for 3 and 4",
        );
    }
    for seats in 2..=5 {
        let place = format!("deal.by_players.{seats}");
        let Some(dealt) = file.deal.by_players.get(&seats.to_string()) else {
            return refuse(&place, "missing");
        };
        let per_round = seats * i64::try_from(PACK).unwrap_or(0);
        let left = i64::from(CARDS_OF_AGE) - 2 * per_round;
        exactly(
            &format!("{place}.dealt_per_round"),
            dealt.dealt_per_round,
            per_round,
        )?;
        exactly(
            &format!("{place}.used_per_age"),
            dealt.used_per_age,
            2 * per_round,
        )?;
        exactly(
            &format!("{place}.left_in_box_per_age"),
            dealt.left_in_box_per_age,
            left,
        )?;
    }
    count("deal.by_players", file.deal.by_players.len(), 4, "seat counts")
}

fn water_points(row: &rows::WaterScoring) -> Checked<[u8; 6]> {
    count("water_scoring.points", row.points.len(), 6, "values")?;
    exactly("water_scoring.cap_difference", row.cap_difference, 5)?;
    let mut points = [0; 6];
    for (index, &value) in row.points.iter().enumerate() {
        points[index] = within(&format!("water_scoring.points[{index}]"), value, 0..=99)?;
    }
    if points[0] != 0 {
        return refuse("water_scoring.points[0]", "the fewest Water Sources give nothing");
    }
    Ok(points)
}

fn entities(rows: &[rows::EntityRow]) -> Checked<Vec<Entity>> {
    count("entities", rows.len(), ENTITIES, "Entities")?;
    let mut entities: Vec<Entity> = Vec::with_capacity(rows.len());
    for (index, row) in rows.iter().enumerate() {
        let place = format!("entities[{index}]");
        in_order(&format!("{place}.id"), row.id, index, 0)?;
        let entity = entity(&place, row)?;
        for (other, known) in entities.iter().enumerate() {
            let alike = |what: &str| refuse(&format!("{place}.{what}"), format!("as in entities[{other}]"));
            if known.key == entity.key {
                return alike("key");
            }
            if known.name == entity.name {
                return alike("name");
            }
            if known.called_by == entity.called_by {
                return alike("called_by");
            }
        }
        entities.push(entity);
    }
    Ok(entities)
}

fn entity(place: &str, row: &rows::EntityRow) -> Checked<Entity> {
    let called = format!("{place}.called_by");
    let called_by = match (&row.called_by.kind, &row.called_by.animal) {
        (Some(kind), None) => Symbol::Type(word(&format!("{called}.type"), kind, &TYPES[..4])?),
        (None, Some(animal)) => Symbol::Animal(word(&format!("{called}.animal"), animal, &ANIMALS)?),
        _ => return refuse(&called, "exactly one of `type` and `animal`"),
    };
    let effect = effect(&format!("{place}.effect"), &row.effect)?;
    let due: &[&str] = match effect {
        Effect::None | Effect::Water(_) => &[],
        _ => &["when_welcomed", "scoring"],
    };
    if row.activates != due {
        return refuse(
            &format!("{place}.activates"),
            format!("must be {due:?} for this effect"),
        );
    }
    Ok(Entity {
        key: row.key.clone(),
        name: row.name.clone(),
        called_by,
        effect,
    })
}

/// Rows stand in the order of their ids.
fn in_order(place: &str, id: i64, index: usize, first: i64) -> Checked<()> {
    let due = first + i64::try_from(index).unwrap_or(0);
    if (first..due).contains(&id) {
        return refuse(place, format!("{id} is the id of row {} already", id - first));
    }
    exactly(place, id, due)
}

fn biomes(file: &rows::File, entities: &[Entity]) -> Checked<([Biome; BIOMES], Vec<String>)> {
    count("biomes", file.biomes.len(), CARDS, "cards")?;
    let mut biomes = [Biome::NONE; BIOMES];
    let mut codes = vec![String::new(); BIOMES];
    for (index, row) in file.biomes.iter().enumerate() {
        let place = format!("biomes[{index}]");
        in_order(&format!("{place}.id"), row.id, index, 0)?;
        if row.code.is_empty() || codes.contains(&row.code) {
            return refuse(
                &format!("{place}.code"),
                format!("`{}` is empty or used already", row.code),
            );
        }
        biomes[index + 1] = card(&place, row)?;
        codes[index + 1].clone_from(&row.code);
    }
    for (side, letter, rows) in [(0, 'A', &file.boards.a), (1, 'B', &file.boards.b)] {
        let place = format!("boards.{letter}");
        count(&place, rows.len(), CELLS, "cells")?;
        for (index, row) in (0..CELLS).zip(rows) {
            let id = usize::from(printed(side, index));
            let place = format!("{place}[{index}]");
            in_order(
                &format!("{place}.id"),
                row.id,
                index.into(),
                100 + 10 * i64::from(side),
            )?;
            biomes[id] = cell(&place, row, index)?;
            codes[id] = format!("{letter}{index}");
        }
    }
    for biome in &mut biomes {
        biome.calls = (0..)
            .zip(entities)
            .filter(|(_, entity)| entity.called_by.is_on(biome))
            .fold(0, |calls, (number, _)| calls | 1 << number);
    }
    Ok((biomes, codes))
}

fn card(place: &str, row: &rows::BiomeRow) -> Checked<Biome> {
    exactly(&format!("{place}.copies"), row.copies, 1)?;
    exactly(
        &format!("{place}.age"),
        row.age,
        row.id / i64::from(CARDS_OF_AGE) + 1,
    )?;
    let cells = match &row.cells {
        None => ALL_CELLS,
        Some(cells) => {
            let cells = cell_list(&format!("{place}.cells"), cells)?;
            if row.cost != 0 {
                return refuse(
                    &format!("{place}.cells"),
                    "a biome has a cost or allowed cells, not both",
                );
            }
            cells
        }
    };
    Ok(Biome {
        age: within(&format!("{place}.age"), row.age, 1..=2)?,
        cost: within(&format!("{place}.cost"), row.cost, 0..=20)?,
        cells,
        ..shown(place, &row.types, &row.animals, row.water, &row.effect, 4)?
    })
}

fn cell(place: &str, row: &rows::CellRow, index: u8) -> Checked<Biome> {
    exactly(&format!("{place}.cell"), row.cell, index.into())?;
    exactly(&format!("{place}.row"), row.row, i64::from(index / 3))?;
    exactly(&format!("{place}.col"), row.col, i64::from(index % 3))?;
    shown(place, &row.types, &row.animals, row.water, &row.effect, 5)
}

/// A list of different cells, as a mask.
fn cell_list(place: &str, cells: &[i64]) -> Checked<u16> {
    let mut set = 0;
    for (index, &cell) in cells.iter().enumerate() {
        let place = format!("{place}[{index}]");
        let bit = 1 << within(&place, cell, 0..=CELLS - 1)?;
        if set & bit != 0 {
            return refuse(&place, format!("{cell} stands there twice"));
        }
        set |= bit;
    }
    if set == 0 {
        return refuse(place, "no cell at all");
    }
    Ok(set)
}

/// What cards and printed cells both show; the first `kinds` types are allowed.
fn shown(
    place: &str,
    types: &[String],
    animals: &[String],
    water: i64,
    effect_row: &rows::EffectRow,
    kinds: usize,
) -> Checked<Biome> {
    let mut biome = Biome::NONE;
    if !(1..=2).contains(&types.len()) {
        return refuse(
            &format!("{place}.types"),
            format!("{} types, not 1 or 2", types.len()),
        );
    }
    for (index, name) in types.iter().enumerate() {
        let place = format!("{place}.types[{index}]");
        let bit = 1 << word(&place, name, &TYPES[..kinds])?;
        if biome.types & bit != 0 {
            return refuse(&place, format!("`{name}` stands there twice"));
        }
        biome.types |= bit;
    }
    if animals.len() > 3 {
        return refuse(
            &format!("{place}.animals"),
            format!("{} animals, more than 3", animals.len()),
        );
    }
    for (index, name) in animals.iter().enumerate() {
        let kind = word(&format!("{place}.animals[{index}]"), name, &ANIMALS)?;
        biome.animals[usize::from(kind)] += 1;
    }
    biome.water = within(&format!("{place}.water"), water, 0..=9)?;
    if water > 0 && types != ["mountain"] {
        return refuse(
            &format!("{place}.water"),
            "only a single-type mountain has Water Sources",
        );
    }
    let place = format!("{place}.effect");
    biome.effect = effect(&place, effect_row)?;
    if matches!(biome.effect, Effect::Water(_)) {
        return refuse(&format!("{place}.kind"), "`passive_water` is for Entities");
    }
    Ok(biome)
}

fn track(rows: &[rows::StopRow]) -> Checked<[Stop; STOPS as usize]> {
    count("track", rows.len(), STOPS, "stops")?;
    let mut track = [Stop {
        round: 1,
        turn: 4,
        side: Side::Star,
        line: 0,
    }; STOPS as usize];
    for (index, row) in (0..STOPS).zip(rows) {
        let place = format!("track[{index}]");
        exactly(&format!("{place}.step"), row.step, i64::from(index) + 1)?;
        exactly(&format!("{place}.round"), row.round, i64::from(index / 4) + 1)?;
        let stop = &mut track[usize::from(index)];
        stop.round = index / 4 + 1;
        stop.turn = index % 4 + 1;
        let kind = ["turn", "scoring"][usize::from(stop.is_scoring())];
        if row.kind != kind {
            return refuse(
                &format!("{place}.kind"),
                format!("`{}`, but this stop is a {kind}", row.kind),
            );
        }
        if !stop.is_scoring() {
            (stop.side, stop.line) = turn(&place, row, *stop)?;
        }
    }
    for round in track.chunks(4) {
        if round[0].side != round[2].side || round[0].side == round[1].side {
            let place = format!("track[{}].satellite", 4 * round[0].round - 2);
            return refuse(
                &place,
                "a Satellite is read at turns 1 and 3 by one neighbour, at turn 2 by the other",
            );
        }
    }
    Ok(track)
}

fn turn(place: &str, row: &rows::StopRow, stop: Stop) -> Checked<(Side, u16)> {
    let missing = |field: &str| CatalogueError::new(format!("{place}.{field}"), "missing");
    let turn = row.turn.ok_or_else(|| missing("turn"))?;
    exactly(&format!("{place}.turn"), turn, stop.turn.into())?;
    let age = row.age.ok_or_else(|| missing("age"))?;
    exactly(&format!("{place}.age"), age, i64::from(stop.age()) + 1)?;
    let satellite = row.satellite.as_ref().ok_or_else(|| missing("satellite"))?;
    let side = match word(&format!("{place}.satellite"), satellite, &["moon", "star"])? {
        0 => Side::Moon,
        _ => Side::Star,
    };
    let line = row.line.as_ref().ok_or_else(|| missing("line"))?;
    let line = word(&format!("{place}.line"), line, &["row", "column"])?;
    let index = row.index.ok_or_else(|| missing("index"))?;
    let index = within(&format!("{place}.index"), index, 0..=2)?;
    let cells = row.cells.as_ref().ok_or_else(|| missing("cells"))?;
    let cells = cell_list(&format!("{place}.cells"), cells)?;
    if cells != mask(&LINES[usize::from(3 * line + index)]) {
        return refuse(&format!("{place}.cells"), "not the cells of the line named");
    }
    Ok((side, cells))
}
