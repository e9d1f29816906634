//! Tensors, settings and specs by themselves, and what worlds tell of secrets.

use boardwire_api::dm_env_rpc::{DataType, Tensor, tensor, tensor_spec};
use boardwire_batch::registry::Registry;
use boardwire_batch::tables::Tables;
use boardwire_kernel::{RESAMPLE_STREAM, RngStream};
use prost::Message as _;
use tensor::Payload;

use super::*;
use crate::rpc::secrecy::serve;

fn of(payload: Payload) -> Tensor {
    Tensor { shape: vec![], payload: Some(payload) }
}

fn int64(value: i64) -> Tensor {
    of(Payload::Int64s(tensor::Int64Array { array: vec![value] }))
}

fn texts(values: &[&str], shape: &[i32]) -> Tensor {
    let array = values.iter().map(|&value| value.to_owned()).collect();
    Tensor { shape: shape.to_vec(), payload: Some(Payload::Strings(tensor::StringArray { array })) }
}

fn text(value: &str) -> Tensor {
    texts(&[value], &[])
}

fn flag(value: bool) -> Tensor {
    of(Payload::Bools(tensor::BoolArray { array: vec![value] }))
}

fn double(value: f64) -> Tensor {
    of(Payload::Doubles(tensor::DoubleArray { array: vec![value] }))
}

#[test]
fn a_tensor_is_a_value_or_described_as_what_it_is() {
    let bytes = |bytes: &'static [u8]| bytes.into();
    for (tensor, described) in [
        (int64(-1), "-1"),
        (of(Payload::Int8s(tensor::Int8Array { array: bytes(&[255]) })), "-1"),
        (of(Payload::Uint8s(tensor::Uint8Array { array: bytes(&[255]) })), "255"),
        (of(Payload::Uint64s(tensor::Uint64Array { array: vec![u64::MAX] })), "18446744073709551615"),
        (double(7.0), "7.0"),
        (double(f64::NAN), "NaN"),
        (flag(true), "true"),
        (text("x"), "x"),
        (texts(&["a", "b"], &[2]), "2 strings of shape [2]"),
        (texts(&["a"], &[1]), "1 strings of shape [1]"),
        (texts(&[], &[]), "0 strings of shape []"),
        (of(Payload::Protos(tensor::ProtoArray::default())), "0 protos of shape []"),
        (Tensor::default(), "a tensor without elements"),
    ] {
        assert_eq!(tensors::described(&tensor), described, "{tensor:?}");
    }
}

#[test]
fn texts_are_as_many_as_are_needed_or_one_for_all() {
    for (given, shape, read) in [
        (&["a", "b"][..], &[2][..], Some(["a", "b"])),
        (&["a", "b"], &[-1], Some(["a", "b"])),
        (&["a"], &[2], Some(["a", "a"])),
        (&["a"], &[], Some(["a", "a"])),
        (&["a", "b"], &[], None),
        (&["a", "b"], &[3], None),
        (&["a", "b", "c"], &[3], None),
        (&["a", "b"], &[2, 1], None),
        (&["a", "b"], &[-1, -1], None),
        (&[], &[2], None),
    ] {
        assert_eq!(tensors::texts(&texts(given, shape), 2), read.map(Vec::from), "{given:?} {shape:?}");
    }
    assert_eq!(tensors::texts(&int64(1), 2), None);
}

/// What a world with these settings is opened with, or why it is not.
fn opened(settings: &[(&str, Tensor)]) -> Result<String, String> {
    let tables = Tables::new(Registry::standard());
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let (table, opening) = Settings(&settings).opening(&tables).map_err(|error| error.to_string())?;
    let plan = &opening.plan;
    let players: Vec<String> = plan.line_ups[0].players.iter().map(ToString::to_string).collect();
    let seed = if settings.contains_key("seed") { opening.seed.to_string() } else { "drawn".to_owned() };
    let game = table.rules.info().id;
    Ok(format!("{game} {players:?} {seed} {:?} {:?} {}", plan.reward, plan.illegal_actions, plan.skip_forced))
}

#[test]
fn settings_say_what_is_played() {
    let game = ("game", text("faraway"));
    for (settings, expected) in [
        (vec![], r#"faraway ["remote", "random"] drawn Rank SeededLegal false"#),
        (
            vec![("seats", int64(3)), ("seat", int64(1)), ("bots", texts(&["greedy", "mc:20"], &[2]))],
            r#"faraway ["greedy", "remote", "mc:20"] drawn Rank SeededLegal false"#,
        ),
        (
            vec![
                ("seats", int64(3)),
                ("bots", text("greedy")),
                ("seed", int64(7)),
                ("skip_forced", flag(true)),
            ],
            r#"faraway ["remote", "greedy", "greedy"] 7 Rank SeededLegal true"#,
        ),
        (
            vec![("reward", text("margin")), ("illegal_actions", text("forfeit"))],
            r#"faraway ["remote", "random"] drawn Margin Forfeit false"#,
        ),
        (
            vec![("options.variant", text("basic"))],
            r#"faraway ["remote", "random"] drawn Rank SeededLegal false"#,
        ),
    ] {
        let settings = [vec![game.clone()], settings].concat();
        assert_eq!(opened(&settings).as_deref(), Ok(expected), "{settings:?}");
    }
}

#[test]
fn a_setting_that_cannot_be_is_refused_by_its_name() {
    let all = "game, seats, seat, bots, seed, reward, illegal_actions, skip_forced, options.NAME for options of the game";
    let games = "`settings.game` is one of faraway, rauha, golden_compass, not";
    assert_eq!(opened(&[]), Err(format!("{games} `nothing`")));
    assert_eq!(opened(&[("game", int64(3))]), Err(format!("{games} `3`")));
    let whole = |name, to: &str| format!("`settings.{name}` is a whole number from 0 to {to}, not");
    let bots = "`settings.bots` is the name of a bot, or 1 of them, for the other seats in turn, not";
    for (name, value, refusal) in [
        ("players", int64(2), format!("`settings` is of {all}, not `players`")),
        ("seats", text("two"), format!("{} `two`", whole("seats", "4294967295"))),
        ("seats", int64(9), "faraway is played by 2 to 6 seats, not 9".to_owned()),
        ("seat", int64(2), format!("{} `2`", whole("seat", "1"))),
        ("seat", int64(-1), format!("{} `-1`", whole("seat", "1"))),
        ("bots", int64(2), format!("{bots} `2`")),
        ("bots", texts(&["greedy"; 2], &[2]), format!("{bots} `2 strings of shape [2]`")),
        ("bots", text("learner"), "seat 1 is given to `learner`: known are ".to_owned()),
        ("seed", double(7.0), format!("{} `7.0`", whole("seed", "18446744073709551615"))),
        (
            "reward",
            text("RANK"),
            "`settings.reward` is one of rank, win, margin, score, not `RANK`".to_owned(),
        ),
        (
            "illegal_actions",
            flag(true),
            "`settings.illegal_actions` is one of seeded_legal, first_legal, reject, forfeit, not `true`"
                .to_owned(),
        ),
        ("skip_forced", int64(1), "`settings.skip_forced` is a bool, not `1`".to_owned()),
        ("options.taste", text("x"), "faraway has no option `taste`: known are ".to_owned()),
        (
            "options.variant",
            double(0.5),
            "`settings.options` is a string, a whole number or a bool each, not `variant: 0.5`".to_owned(),
        ),
    ] {
        let refused = opened(&[("game", text("faraway")), (name, value)]).expect_err(name);
        assert!(refused.starts_with(&refusal), "{name}: {refused}");
    }
}

#[test]
fn seeds_are_given_to_worlds_that_begin_anew_and_nothing_to_those_who_join() {
    let settings = |given: &[(&str, Tensor)]| {
        given.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    };
    assert_eq!(Settings(&settings(&[])).seed(), Ok(None));
    assert_eq!(Settings(&settings(&[("seed", int64(7))])).seed(), Ok(Some(7)));
    let refused = Settings(&settings(&[("game", text("rauha"))])).seed().expect_err("it stays");
    assert_eq!(refused.to_string(), "`settings` is of seed, not `game`");
    assert_eq!(Settings(&settings(&[])).none(), Ok(()));
    let refused = Settings(&settings(&[("seat", int64(1))])).none().expect_err("it is the world's");
    assert_eq!(refused.to_string(), "`settings` is empty, not `seat`");
}

/// The tables of every game with every number of seats.
fn tables() -> Vec<Arc<boardwire_batch::tables::Table>> {
    let tables = Tables::new(Registry::standard());
    let games: Vec<_> = tables.registry().game_types().collect();
    let of = |game: &boardwire_kernel::GameType| {
        let seats = game.seats.clone();
        seats.map(|seats| tables.table(game.id, seats.into(), []).expect("a table")).collect::<Vec<_>>()
    };
    games.iter().flat_map(of).collect()
}

#[test]
fn specs_name_every_field_once_within_its_type() {
    for table in tables() {
        let info = table.rules.info();
        let specs = specs::specs(info);
        let mut names: Vec<_> = specs.observations.values().map(|spec| spec.name.as_str()).collect();
        assert_eq!(names[..3], ["action_mask", "reward", "substituted"]);
        assert_eq!(names.len(), 3 + info.layout.fields.len());
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), specs.observations.len());
        for spec in specs.observations.values().filter(|spec| spec.shape.is_empty()) {
            // `DmEnvAdaptor` adds 1 to the maximum of a single value, in its own type.
            let max = spec.max.as_ref().and_then(|max| max.payload.as_ref());
            let fits = match (spec.dtype(), max) {
                (DataType::Uint8, Some(tensor_spec::value::Payload::Uint8s(max))) => max.array[0] < u8::MAX,
                (DataType::Int8 | DataType::Int32, Some(_)) | (DataType::Float, None) => true,
                _ => false,
            };
            assert!(fits, "{spec:?}");
        }
    }
}

#[test]
fn what_there_is_not_is_refused_by_its_number() {
    let tables = tables();
    let info = tables[0].rules.info();
    assert_eq!(specs::wanted(info, &[3, 16, 3]), Ok([3, 16].into()));
    for uid in [0, 4, 15, 16 + info.layout.fields.len() as u64, u64::MAX] {
        let refused = specs::wanted(info, &[1, uid]).expect_err("there is none").to_string();
        assert!(
            refused.starts_with("`requested_observations` is of the UIDs 1 to 3 and 16 to "),
            "{refused}"
        );
        assert!(refused.ends_with(&format!("not `{uid}`")), "{refused}");
    }
}

#[test]
fn an_action_is_one_int32_among_those_that_there_are() {
    let tables = tables();
    let info = tables[0].rules.info();
    let most = info.actions.count() - 1;
    let int32s = |values: &[i32], shape: &[i32]| Tensor {
        shape: shape.to_vec(),
        payload: Some(Payload::Int32s(tensor::Int32Array { array: values.to_vec() })),
    };
    let last = i32::try_from(most).expect("few");
    for good in [0, last] {
        let action = specs::action(info, &[(1, int32s(&[good], &[]))].into());
        assert_eq!(action.map(i32::from), Ok(good));
    }
    for (actions, value) in [
        (vec![], "nothing"),
        (vec![(0, int32s(&[0], &[]))], "UID 0"),
        (vec![(1, int32s(&[0], &[])), (2, int32s(&[0], &[]))], "UID 2"),
        (vec![(1, int32s(&[-1], &[]))], "UID 1: -1"),
        (vec![(1, int32s(&[last + 1], &[]))], &format!("UID 1: {}", last + 1)),
        (vec![(1, int32s(&[i32::MIN], &[]))], "UID 1: -2147483648"),
        (vec![(1, int32s(&[0], &[1]))], "UID 1: 1 int32s of shape [1]"),
        (vec![(1, int32s(&[0], &[-1]))], "UID 1: 1 int32s of shape [-1]"),
        (vec![(1, int32s(&[], &[]))], "UID 1: 0 int32s of shape []"),
        (vec![(1, int64(0))], "UID 1: 0"),
        (vec![(1, double(0.0))], "UID 1: 0.0"),
        (vec![(1, Tensor::default())], "UID 1: a tensor without elements"),
    ] {
        let refused = specs::action(info, &actions.into_iter().collect()).expect_err(value).to_string();
        let expected = format!("UID 1 (`action`) alone, an int32 of shape [] from 0 to {most}");
        assert_eq!(refused, format!("`actions` is {expected}, not `{value}`"));
    }
}

/// A seat of a world on a server in this process.
struct Asker {
    batches: Arc<Batches>,
    name: String,
    joined: Session,
}

impl Asker {
    async fn join(matches: Arc<Matches>, batches: Arc<Batches>, game: &str) -> Self {
        let terms = Terms { peer: None, origin: crate::edge::Origin::Unknown, request: None };
        let mut joined = Session { matches, batches: Arc::clone(&batches), terms, joined: None };
        let settings = [("game", text(game)), ("seats", int64(3)), ("seat", int64(1)), ("seed", int64(7))];
        let settings = settings.map(|(name, value)| (name.to_owned(), value)).into();
        let made = joined.create(CreateWorldRequest { settings }).await.expect("it is made");
        let name = made.world_name;
        let join = JoinWorldRequest { world_name: name.clone(), ..JoinWorldRequest::default() };
        joined.join(join).expect("nobody is there");
        Self { batches, name, joined }
    }

    /// The bytes of all answers that change nothing, and of everything there is to see now.
    async fn told(&mut self) -> Vec<Vec<u8>> {
        let world = self.batches.find_world(&self.name).expect("it was made");
        let (batch, info) = (world.batch(), world.batch().table().rules.info());
        let none = boardwire_batch::batch::Reset { mask: vec![0].into(), ..Default::default() };
        let shown = batch.reset(none, None).await.expect("it is shown");
        let all = specs::specs(info).observations.into_keys().collect();
        let seat = batch.opening().plan.line_ups[0].first_learner;
        let observations = specs::observations(info, seat, &shown, &all);
        let mut told = vec![StepResponse { state: 0, observations }.encode_to_vec()];
        for asked in [
            Asked::JoinWorld(JoinWorldRequest { world_name: self.name.clone(), ..Default::default() }),
            Asked::Step(StepRequest::default()),
            Asked::Step(StepRequest { requested_observations: vec![99], ..StepRequest::default() }),
            Asked::DestroyWorld(DestroyWorldRequest { world_name: self.name.clone() }),
        ] {
            let refused = self.joined.answer(EnvironmentRequest { payload: Some(asked) }).await;
            told.push(refused.expect_err("it is refused").to_string().into_bytes());
        }
        told
    }
}

#[tokio::test]
async fn no_answer_of_a_world_tells_what_its_seat_may_not_know() {
    let (_, matches, batches) = serve().await;
    for game in boardwire_games::IDS {
        let mut asker = Asker::join(Arc::clone(&matches), Arc::clone(&batches), game).await;
        let batch = Arc::clone(batches.find_world(&asker.name).expect("it was made").batch());
        let mut rng = RngStream::new(3, RESAMPLE_STREAM);
        for step in 0..40 {
            let given = of(Payload::Int32s(tensor::Int32Array { array: vec![step % 7] }));
            let step = StepRequest { actions: [(1, given)].into(), ..StepRequest::default() };
            let stepped = asker.joined.step(step).await.expect("it is played");
            if stepped.state() != EnvironmentStateType::Running {
                continue;
            }
            let expected = asker.told().await;
            let truth = batch.determinize(&mut rng).await;
            let told = asker.told().await;
            batch.put_back(truth).await;
            assert_eq!(told, expected, "{game}: a world tells a secret");
        }
    }
}
