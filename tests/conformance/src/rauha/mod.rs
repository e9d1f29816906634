//! Rauha: scoring cases and recorded games.
//!
//! In both formats, the id of a card is 0..=79 as in the catalogue. The id of a printed cell is 100..=108 (side A) or
//! 110..=118 (side B). An Entity is named by its key.

#[cfg(test)]
mod cases;
mod replay;
mod score;
#[cfg(test)]
mod tests;

use boardwire_games::rauha::{BiomeId, Board, EntitySet};
use boardwire_kernel::catalogue::{BoundedU8, CatalogueResult, check_range, read, refuse, require};
use serde::{Deserialize, Serialize};

pub(crate) use replay::replay;
pub(crate) use score::score;

/// The number of cards, and of cells of a board.
const CARDS: u8 = 80;
const CELLS: u8 = 9;

/// The most crystals or points that are possible with any catalogue.
const MAX_CRYSTALS_OR_POINTS: u16 = 30_000;

type Card = BoundedU8<0, 79>;
type Cell = BoundedU8<0, 8>;
type Step = BoundedU8<1, 16>;

/// The keys of the Entities, in order of their ids.
struct EntityKeys(Vec<String>);

impl EntityKeys {
    fn read(catalogue: &str) -> CatalogueResult<Self> {
        #[derive(Deserialize)]
        struct CatalogueEntities {
            entities: Vec<Entity>,
        }
        #[derive(Deserialize)]
        struct Entity {
            key: String,
        }
        let catalogue: CatalogueEntities = read(catalogue)?;
        Ok(Self(catalogue.entities.into_iter().map(|entity| entity.key).collect()))
    }

    /// Returns the id of the Entity with this key.
    fn id(&self, place: &str, key: &str) -> CatalogueResult<u8> {
        match (1..).zip(&self.0).find(|(_, known)| *known == key) {
            Some((id, _)) => Ok(id),
            None => refuse(place, format!("there is no Entity `{key}`")),
        }
    }

    /// Returns the Entities with these keys. A repeated key is an error.
    fn ids(&self, place: &str, keys: &[String]) -> CatalogueResult<EntitySet> {
        let mut set = EntitySet::EMPTY;
        for (index, key) in keys.iter().enumerate() {
            let place = format!("{place}[{index}]");
            let id = self.id(&place, key)?;
            require(!set.contains(id), place, || format!("`{key}` occurs twice"))?;
            set.insert(id);
        }
        Ok(set)
    }

    /// Returns the keys of Entities, in alphabetical order.
    fn sorted_keys(&self, ids: impl IntoIterator<Item = u8>) -> Vec<String> {
        let mut keys: Vec<_> = ids.into_iter().map(|id| self.0[usize::from(id) - 1].clone()).collect();
        keys.sort();
        keys
    }
}

/// Converts a biome, a row of the table `biomes`, to its number in cases and records.
fn biome_to_number(biome: u8) -> u8 {
    match biome {
        card @ ..=CARDS => card - 1,
        cell if cell <= CARDS + CELLS => 100 + (cell - CARDS - 1),
        cell => 110 + (cell - CARDS - CELLS - 1),
    }
}

/// Converts the number of a biome in a case. A printed biome must be on its own cell, `at`.
fn biome_from_number(place: &str, number: u8, at: u8) -> CatalogueResult<BiomeId> {
    let (first, cell) = match number {
        0..CARDS => return Ok(BiomeId::new(number + 1)),
        100..=108 => (CARDS + 1, number - 100),
        110..=118 => (CARDS + CELLS + 1, number - 110),
        _ => return refuse(place, format!("there is no biome {number}")),
    };
    require(cell == at, place, || format!("biome {number} must be on cell {cell}"))?;
    Ok(BiomeId::new(first + cell))
}

/// One seat in a case's state or in a snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Player {
    cells: [u8; CELLS as usize],
    spores: [u8; CELLS as usize],
    crystals: u16,
    points: u16,
    entities: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fresh: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hand: Option<u8>,
}

impl Player {
    /// Returns the board. Checks it without the other boards.
    fn board(&self, place: &str, keys: &EntityKeys) -> CatalogueResult<Board> {
        let mut board = Board::new([BiomeId::new(1); CELLS as usize], 0);
        board.crystals = check_range(format!("{place}.crystals"), self.crystals, 0, MAX_CRYSTALS_OR_POINTS)?;
        board.gained[0] = check_range(format!("{place}.points"), self.points, 0, MAX_CRYSTALS_OR_POINTS)?;
        board.entities = keys.ids(&format!("{place}.entities"), &self.entities)?;
        for (at, (&cell, &spore)) in (0..).zip(self.cells.iter().zip(&self.spores)) {
            board.cells[usize::from(at)] = biome_from_number(&format!("{place}.cells[{at}]"), cell, at)?;
            if check_range(format!("{place}.spores[{at}]"), spore, 0, 1)? == 1 {
                board.spores.insert(at);
            }
        }
        Ok(board)
    }

    /// Returns the Entities welcomed in this turn. The seat must hold them.
    fn welcomed(&self, place: &str, keys: &EntityKeys) -> CatalogueResult<EntitySet> {
        let fresh = self.fresh.as_deref().unwrap_or_default();
        let welcomed = keys.ids(&format!("{place}.fresh"), fresh)?;
        let are_held = fresh.iter().all(|key| self.entities.contains(key));
        require(are_held, format!("{place}.fresh"), || "an Entity that is not held".into())?;
        Ok(welcomed)
    }
}

/// Returns the boards of all seats. Cards and Entities are unique, all boards show the same side, and
/// each player holds the Entities that it welcomed in this turn.
fn boards(place: &str, players: &[Player], keys: &EntityKeys) -> CatalogueResult<Vec<Board>> {
    check_range(format!("{place} (their number)"), players.len(), 1, 5)?;
    let (mut seen, mut sides, mut held) = (Vec::new(), Vec::new(), EntitySet::EMPTY);
    let mut boards = Vec::with_capacity(players.len());
    for (seat, player) in players.iter().enumerate() {
        let place = format!("{place}[{seat}]");
        let board = player.board(&place, keys)?;
        let cells = (0..).zip(&player.cells).map(|(at, &number)| (format!("{place}.cells[{at}]"), number));
        for (place, number) in cells.chain(player.hand.map(|hand| (format!("{place}.hand"), hand))) {
            if number >= CARDS {
                require(!place.ends_with("hand"), &*place, || format!("there is no card {number}"))?;
                sides.push(number / 10);
                require(sides[0] == number / 10, place, || "both sides of the boards in one game".into())?;
                continue;
            }
            require(!seen.contains(&number), place, || format!("card {number} occurs twice"))?;
            seen.push(number);
        }
        let is_free = held.intersection(board.entities).is_empty();
        require(is_free, format!("{place}.entities"), || "an Entity has two holders".into())?;
        held = held.union(board.entities);
        player.welcomed(&place, keys)?;
        boards.push(board);
    }
    Ok(boards)
}
