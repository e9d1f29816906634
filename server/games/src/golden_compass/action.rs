//! Choices, and their indices laid out from the catalogue's sizes.
//!
//! The order is fixed, the sizes are the catalogue's: two characters, two colours, five light-blue
//! choices, opponents, token backs, sets, card types, tokens, airship, truth tiles, steps, options, cost.

use boardwire_kernel::catalogue::{Checked, refuse};
use boardwire_kernel::{ActionRange, ActionSpace, MAX_ACTIONS};

use super::catalogue::limits::{COLLECTING, SEATS};
use super::catalogue::{CardId, Catalogue, CityId, DaemonId, SymbolId, TileId, TokenId, count_of};
use super::state::SetKind;

/// A choice of The Golden Compass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Keep the first or second character dealt, counted from 0.
    Keep(u8),
    /// Carry out the red symbol.
    Red,
    /// Carry out the light-blue symbol.
    Blue,
    /// Lay a compass tile on the objective.
    Alethiometer,
    /// Name who takes the airship.
    Magisterium,
    /// Use the ally's power.
    Ally,
    /// Take a dust tile.
    Dust,
    /// Give up the light-blue action.
    GiveUp,
    /// Name the opponent so many seats to the left.
    Opponent(u8),
    /// Steal a token with the back of this city.
    Back(CityId),
    /// Play a pair of this daemon.
    Pair(DaemonId),
    /// Play a triplet of this symbol.
    Triplet(SymbolId),
    /// Play two flying spies.
    Spies,
    /// Play any two cards as a pair.
    Wild,
    /// Play two cards of this symbol as a triplet.
    Short(SymbolId),
    /// End the turn.
    EndTurn,
    /// A Lyra card of this type: for a set, a cost, or the discard pile.
    Card(CardId),
    /// Lay out a token like this one.
    Token(TokenId),
    /// Pay cards for the airship.
    PayCards,
    /// Give up a truth tile for the airship.
    GiveTile,
    /// Take a truth tile of this value.
    Tile(TileId),
    /// Advance Lyra so many spaces.
    Steps(u8),
    /// Choose this option of an effect, counted from 0.
    Choose(u8),
    /// Pay the cost.
    Pay,
    /// Decline the cost.
    Decline,
}

const KEEP: ActionRange = ActionRange::numbers("keep", 0, 1);
const RED: ActionRange = ActionRange::single("red").after(&KEEP);
const BLUE: ActionRange = ActionRange::single("light_blue").after(&RED);
const ALETHIOMETER: ActionRange = ActionRange::single("alethiometer").after(&BLUE);
const MAGISTERIUM: ActionRange = ActionRange::single("magisterium").after(&ALETHIOMETER);
const ALLY: ActionRange = ActionRange::single("ally").after(&MAGISTERIUM);
const DUST: ActionRange = ActionRange::single("dust").after(&ALLY);
const GIVE_UP: ActionRange = ActionRange::single("give_up").after(&DUST);
#[expect(clippy::cast_possible_truncation, reason = "few seats")]
const OPPONENT: ActionRange = ActionRange::numbers("opponent", 1, SEATS as u8 - 1).after(&GIVE_UP);
#[expect(clippy::cast_possible_truncation, reason = "few cities")]
const BACK: ActionRange = ActionRange::rows("steal", "cities", COLLECTING as u8).after(&OPPONENT);

/// Steps of a free advance that always have an index, and options of an effect.
const LEAST_STEPS: u8 = 4;
const LEAST_OPTIONS: u8 = 2;

/// The ranges whose sizes are the catalogue's, and the action of every index.
#[derive(Debug)]
pub(super) struct Ranges {
    pub(super) pair: ActionRange,
    pub(super) triplet: ActionRange,
    spies: ActionRange,
    wild: ActionRange,
    pub(super) short: ActionRange,
    end_turn: ActionRange,
    pub(super) card: ActionRange,
    pub(super) token: ActionRange,
    pay_cards: ActionRange,
    give_tile: ActionRange,
    pub(super) tile: ActionRange,
    pub(super) steps: ActionRange,
    pub(super) choose: ActionRange,
    pay: ActionRange,
    decline: ActionRange,
    /// Decoding is asked for at every ply.
    actions: Vec<Action>,
}

impl Ranges {
    /// Lays the action space out.
    ///
    /// # Errors
    /// When the catalogue's sizes do not fit the greatest action space.
    pub(super) fn new(catalogue: &Catalogue) -> Checked<Self> {
        let (daemons, symbols) = (count_of(&catalogue.daemons), count_of(&catalogue.symbols));
        let (cards, tokens) = (count_of(&catalogue.cards), count_of(&catalogue.tokens));
        let tiles = count_of(&catalogue.tiles);
        let steps = LEAST_STEPS.max(catalogue.free_steps() + 1);
        let options = LEAST_OPTIONS.max(catalogue.most_options());
        let fixed = usize::from(BACK.index(1) + BACK.len()) + 7;
        let sizes = [daemons, symbols, symbols, cards, tokens, tiles, steps, options];
        let count = fixed + sizes.into_iter().map(usize::from).sum::<usize>();
        if count >= MAX_ACTIONS {
            let problem =
                format!("daemons, symbols, cards and tokens make {count} actions, not below {MAX_ACTIONS}");
            return refuse("lyra_deck", problem);
        }
        let pair = ActionRange::numbers("pair", 1, daemons).after(&BACK);
        let triplet = ActionRange::numbers("triplet", 1, symbols).after(&pair);
        let spies = ActionRange::single("spies").after(&triplet);
        let wild = ActionRange::single("wild_pair").after(&spies);
        let short = ActionRange::numbers("short_triplet", 1, symbols).after(&wild);
        let end_turn = ActionRange::single("end_turn").after(&short);
        let card = ActionRange::rows("card", "cards", cards).after(&end_turn);
        let token = ActionRange::rows("lay_out", "tokens", tokens).after(&card);
        let pay_cards = ActionRange::single("pay_cards").after(&token);
        let give_tile = ActionRange::single("give_tile").after(&pay_cards);
        let tile = ActionRange::rows("take", "tiles", tiles).after(&give_tile);
        let steps = ActionRange::numbers("advance", 0, steps - 1).after(&tile);
        let choose = ActionRange::numbers("option", 0, options - 1).after(&steps);
        let pay = ActionRange::single("pay").after(&choose);
        let decline = ActionRange::single("decline").after(&pay);
        let mut ranges = Self {
            pair,
            triplet,
            spies,
            wild,
            short,
            end_turn,
            card,
            token,
            pay_cards,
            give_tile,
            tile,
            steps,
            choose,
            pay,
            decline,
            actions: Vec::new(),
        };
        ranges.actions = ranges.in_order();
        Ok(ranges)
    }

    /// Every action, in the order of the indices.
    fn in_order(&self) -> Vec<Action> {
        let mut all: Vec<Action> = KEEP.each().map(Action::Keep).collect();
        all.extend([Action::Red, Action::Blue]);
        all.extend([Action::Alethiometer, Action::Magisterium, Action::Ally, Action::Dust, Action::GiveUp]);
        all.extend(OPPONENT.each().map(Action::Opponent));
        all.extend(BACK.each().map(|city| Action::Back(CityId::new(city))));
        all.extend(self.pair.each().map(|daemon| Action::Pair(DaemonId::new(daemon))));
        all.extend(self.triplet.each().map(|symbol| Action::Triplet(SymbolId::new(symbol))));
        all.extend([Action::Spies, Action::Wild]);
        all.extend(self.short.each().map(|symbol| Action::Short(SymbolId::new(symbol))));
        all.push(Action::EndTurn);
        all.extend(self.card.each().map(|card| Action::Card(CardId::new(card))));
        all.extend(self.token.each().map(|token| Action::Token(TokenId::new(token))));
        all.extend([Action::PayCards, Action::GiveTile]);
        all.extend(self.tile.each().map(|tile| Action::Tile(TileId::new(tile))));
        all.extend(self.steps.each().map(Action::Steps));
        all.extend(self.choose.each().map(Action::Choose));
        all.extend([Action::Pay, Action::Decline]);
        all
    }

    #[inline]
    pub(super) fn encode(&self, action: Action) -> u8 {
        match action {
            Action::Keep(which) => KEEP.index(which),
            Action::Red => RED.index(0),
            Action::Blue => BLUE.index(0),
            Action::Alethiometer => ALETHIOMETER.index(0),
            Action::Magisterium => MAGISTERIUM.index(0),
            Action::Ally => ALLY.index(0),
            Action::Dust => DUST.index(0),
            Action::GiveUp => GIVE_UP.index(0),
            Action::Opponent(left) => OPPONENT.index(left),
            Action::Back(city) => BACK.index(city.get()),
            Action::Pair(daemon) => self.pair.index(daemon.get()),
            Action::Triplet(symbol) => self.triplet.index(symbol.get()),
            Action::Spies => self.spies.index(0),
            Action::Wild => self.wild.index(0),
            Action::Short(symbol) => self.short.index(symbol.get()),
            Action::EndTurn => self.end_turn.index(0),
            Action::Card(card) => self.card.index(card.get()),
            Action::Token(token) => self.token.index(token.get()),
            Action::PayCards => self.pay_cards.index(0),
            Action::GiveTile => self.give_tile.index(0),
            Action::Tile(tile) => self.tile.index(tile.get()),
            Action::Steps(steps) => self.steps.index(steps),
            Action::Choose(option) => self.choose.index(option),
            Action::Pay => self.pay.index(0),
            Action::Decline => self.decline.index(0),
        }
    }

    #[inline]
    pub(super) fn decode(&self, index: u8) -> Option<Action> {
        self.actions.get(usize::from(index)).copied()
    }

    /// The action space with its labels.
    pub(super) fn actions(&self, catalogue: &Catalogue) -> ActionSpace {
        let single = |label: &'static str| move |_| label.to_owned();
        let symbol = |symbol: u8| &catalogue.symbols[usize::from(symbol) - 1];
        let keep = |which| format!("keep the {} character", if which == 0 { "first" } else { "second" });
        let back = |city| format!("steal a token of {}", catalogue.city(CityId::new(city)).name);
        let pair = |daemon: u8| format!("play a pair of {}", catalogue.daemons[usize::from(daemon) - 1]);
        let tile =
            |tile: u8| format!("take a truth tile of {}", catalogue.tiles[usize::from(tile) - 1].value);
        ActionSpace::new()
            .with(KEEP, keep)
            .with(RED, single("choose red"))
            .with(BLUE, single("choose light blue"))
            .with(ALETHIOMETER, single("alethiometer: lay a compass tile"))
            .with(MAGISTERIUM, single("Magisterium: name who takes the airship"))
            .with(ALLY, single("use the ally's power"))
            .with(DUST, single("take a dust tile"))
            .with(GIVE_UP, single("give up the action"))
            .with(OPPONENT, |left| format!("name the seat {left} to the left"))
            .with(BACK, back)
            .with(self.pair, pair)
            .with(self.triplet, |id| format!("play a triplet of {}", symbol(id)))
            .with(self.spies, single("play two flying spies"))
            .with(self.wild, single("play any two cards as a pair"))
            .with(self.short, |id| format!("play two {} as a triplet", symbol(id)))
            .with(self.end_turn, single("end the turn"))
            .with(self.card, |card| format!("card {}", catalogue.card(CardId::new(card)).name))
            .with(self.token, |token| token_label(catalogue, TokenId::new(token)))
            .with(self.pay_cards, single("airship: pay cards"))
            .with(self.give_tile, single("airship: give up a truth tile"))
            .with(self.tile, tile)
            .with(self.steps, |steps| format!("advance Lyra by {steps}"))
            .with(self.choose, |option| format!("option {}", option + 1))
            .with(self.pay, single("pay the cost"))
            .with(self.decline, single("decline the cost"))
    }
}

/// Only the first of equal tokens is ever laid out by its action; the others have an index all the same.
fn token_label(catalogue: &Catalogue, id: TokenId) -> String {
    let token = catalogue.token(id);
    if token.kind == id {
        format!("lay out {}", token.name)
    } else {
        format!("lay out {} (copy {})", token.name, id.get() - 1)
    }
}

/// The actions for the opponents so many seats to the left.
pub(super) fn opponents(left: boardwire_kernel::BitSet<1>) -> boardwire_kernel::ActionSet {
    OPPONENT.on(left)
}

/// The actions for the backs of these cities.
pub(super) fn backs(cities: boardwire_kernel::BitSet<1>) -> boardwire_kernel::ActionSet {
    BACK.on(cities)
}

impl SetKind {
    /// The action that starts a set of this kind.
    pub(super) fn action(self) -> Action {
        match self {
            Self::Pair(daemon) => Action::Pair(daemon),
            Self::Triplet(symbol) => Action::Triplet(symbol),
            Self::Spies => Action::Spies,
            Self::Wild => Action::Wild,
            Self::Short(symbol) => Action::Short(symbol),
        }
    }
}

impl Action {
    /// The kind of set it starts.
    pub(super) fn set(self) -> Option<SetKind> {
        match self {
            Self::Pair(daemon) => Some(SetKind::Pair(daemon)),
            Self::Triplet(symbol) => Some(SetKind::Triplet(symbol)),
            Self::Spies => Some(SetKind::Spies),
            Self::Wild => Some(SetKind::Wild),
            Self::Short(symbol) => Some(SetKind::Short(symbol)),
            _ => None,
        }
    }
}
