//! The draft of truth tiles beside its record.

use super::super::action::Action;
use super::super::limits::TILE_VALUES;
use super::super::state::Step;
use super::replay::{Compared, Replayer};
use super::script::{Event, Tile, Truth};

/// Values with their counts as a sorted list.
fn values(replayer: &Replayer, counts: &[u8; TILE_VALUES]) -> Vec<u8> {
    let tiles = replayer.lexicon.catalogue.tiles.iter().zip(counts);
    tiles.flat_map(|(&(value, _), &count)| std::iter::repeat_n(value, count.into())).collect()
}

impl Replayer<'_> {
    /// Truth tiles are drawn and drafted.
    pub(super) fn truth(&mut self, last: bool) -> Compared {
        let event =
            self.take("truth", |event| if let Event::Truth(event) = event { Some(event) } else { None })?;
        self.drawn_tiles(event, last)?;
        let s = *self.state();
        let order = s.order[..usize::from(self.lexicon.seats)].to_vec();
        self.same("order", &event.order, &order)?;
        let mut left = values(self, &s.open);
        let period = s.period;
        let mut taken = vec![0; order.len()];
        while let Step::Truth { place, .. } = self.state().step {
            if self.state().period != period {
                break;
            }
            let at = usize::from(place);
            let open = self.state().open;
            let tiles = (0u8..).zip(open).filter(|(_, count)| *count > 0);
            self.offers("picks", tiles.map(|(tile, _)| Action::Tile(tile)).collect())?;
            let picks = &event.picks[at];
            let Some(&value) = picks.get(taken[at]) else {
                return self.differs("picks", picks.clone(), "one more tile is due");
            };
            let Ok(tile) = self.lexicon.value(value) else {
                return self.differs("picks", value, left);
            };
            self.play("picks", Action::Tile(tile))?;
            taken[at] += 1;
            if let Some(gone) = left.iter().position(|&open| open == value) {
                left.remove(gone);
            }
        }
        let sizes: Vec<usize> = event.picks.iter().map(Vec::len).collect();
        self.same("picks (their numbers)", &sizes, &taken)?;
        let mut sorted = event.picks.clone();
        for picks in &mut sorted {
            picks.sort_by(|a, b| b.cmp(a));
        }
        self.same("picks", &event.picks, &sorted)?;
        self.same("left", &event.left, &left)
    }

    fn drawn_tiles(&self, event: &Truth, last: bool) -> Compared {
        let s = self.state();
        let mut bag = s.bag;
        for (count, open) in bag.iter_mut().zip(s.open) {
            *count += open;
        }
        let tiles = self.lexicon.catalogue.tiles.iter().zip(bag).filter(|(_, count)| *count > 0);
        self.same("bag", &event.bag, &tiles.map(|(&(value, _), count)| (value, count)).collect())?;
        let passages = if last { self.lexicon.catalogue.passages } else { 0 };
        self.same("passages", &event.passages, &passages)?;
        let passage = |tile: &&Tile| matches!(tile, Tile::Passage(_));
        let drawn = event.drawn.iter().filter(passage).count();
        self.same("drawn (passages)", &drawn, &usize::from(s.drawn_passages))?;
        let mut told: Vec<u8> = event
            .drawn
            .iter()
            .filter_map(|tile| if let Tile::Value(value) = tile { Some(*value) } else { None })
            .collect();
        told.sort_unstable();
        self.same("drawn", &told, &values(self, &s.open))?;
        let ends = event.drawn.last().is_some_and(|tile| matches!(tile, Tile::Value(_)));
        self.same("drawn (ends with a truth tile)", &ends, &true)
    }
}
