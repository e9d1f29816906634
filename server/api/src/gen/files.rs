pub(super) const FILES: &[(&str, &str)] = &[
("boardwire/v1/batch.proto", r#"// Steps thousands of environments per call, for training. One trusted owner plays all agents.
//
// The owner sends its token as `authorization: Bearer TOKEN` in the call's metadata. A view shows what the deciding seat may know. But the owner
// knows the seed, and snapshots and `oracle` show everything.

syntax = "proto3";

package boardwire.v1;

import "boardwire/v1/match.proto";
import "boardwire/v1/observation.proto";
import "google/rpc/status.proto";

option go_package = "boardwire/v1;boardwirev1";
option java_multiple_files = true;
option java_package = "com.boardwire.v1";

// Steps batches of environments. A call that fails changes nothing. After a lost response, repeat the call with the same `request_id` or `sequence`.
// Without one, the client cannot know whether the call succeeded. Calls for different environments of a batch may run at the same time. Calls for the
// same environment wait for each other.
//
// What a method does depends on the state of an environment:
//
//   method      the episode continues                 the episode is over
//   StepBatch   makes a decision in the episode       with AUTORESET_MODE_NEXT_STEP: begins the next episode
//                                                     with AUTORESET_MODE_DISABLED: fails with ENVIRONMENT_OVER
//   ResetBatch  leaves it and begins the next episode begins the next episode
//
// With AUTORESET_MODE_SAME_STEP the step that ends an episode begins the next, so no environment is ever over.
service BatchService {
  // Opens a batch. Its lease ends with CloseBatch, after the idle timeout, or with its connection unless `keep` is set. Safe to retry with the same
  // `request_id`. Fails with BATCHES_FULL or ENVIRONMENTS_FULL at a limit of the server, and with CALLER_FULL at a limit of the caller.
  rpc OpenBatch(OpenBatchRequest) returns (OpenBatchResponse);
  // Begins episodes in all environments, or in the environments of a mask. Safe to retry with `sequence`.
  rpc ResetBatch(ResetBatchRequest) returns (ResetBatchResponse);
  // Makes one decision in each environment of a range. Safe to retry with `sequence`. Fails with BATCH_ACTION_ILLEGAL, BATCH_ACTION_OUT_OF_RANGE or
  // ENVIRONMENT_OVER for the first such environment, or with SEQUENCE_STALE. A failed call steps no environment.
  rpc StepBatch(StepBatchRequest) returns (StepBatchResponse);
  // Runs StepBatch and ResetBatch on one stream, in order. It is faster than single calls. The server can step one half of the environments while the
  // client decides for the other half. A request that fails gets an error, and the stream continues.
  rpc RunBatch(stream RunBatchRequest) returns (stream RunBatchResponse);
  // Saves all environments, or the environments of a mask. The bytes are opaque and hold everything. Safe to retry.
  rpc SaveBatch(SaveBatchRequest) returns (SaveBatchResponse);
  // Replaces environments of a batch by saved ones. They continue exactly as the saved environments would have. The response has a sequence number,
  // like that of a step. Safe to retry. Fails with SNAPSHOT_INVALID if the bytes were altered or belong to another table.
  rpc LoadBatch(LoadBatchRequest) returns (LoadBatchResponse);
  // Describes the position of an environment and a seat's legal actions as text for people and language models, with what the seat may know. Safe to
  // retry.
  rpc DescribeEnvironment(DescribeEnvironmentRequest) returns (DescribeEnvironmentResponse);
  // Closes a batch. A second call fails with BATCH_UNKNOWN.
  rpc CloseBatch(CloseBatchRequest) returns (CloseBatchResponse);
}

message OpenBatchRequest {
  BatchConfig config = 1;
  // The maximum message size that the client accepts, in bytes; 0 for 4 MiB, gRPC's default. The server refuses a batch whose rows do not fit.
  uint32 max_message_bytes = 2;
  // Whether the batch outlives its connection.
  bool keep = 3;
  // A new random UUID, or empty. A repeated request with the same id gets the first response, and the lease moves to its connection. With other
  // contents or from another account, it fails with REQUEST_ID_REUSED.
  string request_id = 4;
}

message OpenBatchResponse {
  // Every environment is at the beginning of its episode 0.
  Batch batch = 1;
  // The owner's secret token.
  string token = 2;
}

// Without seeds, each environment begins its next episode. An environment that was neither reset nor stepped begins its episode 0.
message ResetBatchRequest {
  string batch_id = 1;
  // Selects environments: environment `i` is bit `i % 8` of byte `i / 8`. Empty for all.
  bytes mask = 2;
  // A new batch seed for these environments, which begin episode 0 as if opened with it.
  optional fixed64 seed = 3;
  // The seed of this episode for each of these environments, in ascending order; or empty. Later seeds follow from the batch seed.
  repeated fixed64 seeds = 4;
  // As in StepBatchRequest, for all environments.
  optional uint64 sequence = 5;
}

message ResetBatchResponse {
  // The rows of all environments. Rows of environments that were not reset have no rewards.
  Step step = 1;
}

message StepBatchRequest {
  string batch_id = 1;
  // uint8[count]: the action for each environment.
  bytes actions = 2;
  // The first environment.
  uint32 first = 3;
  // The number of environments; 0 for all from `first`.
  uint32 count = 4;
  // The sequence number of the response: one more than that of the last response for these environments. If absent, the next number. A repeated
  // request gets the first response and steps nothing again. Another number or other contents fail with SEQUENCE_STALE.
  optional uint64 sequence = 5;
  // Selects the environments that decide: environment `first + i` is bit `i % 8` of byte `i / 8`. Empty for all. The other environments ignore their
  // actions, do not change, and show no reward.
  bytes mask = 6;
}

message StepBatchResponse {
  // The rows of the environments in the range.
  Step step = 1;
}

// A request on a RunBatch stream. The token that opened the stream must be the batch's token.
message RunBatchRequest {
  // A number that the client chooses. The response repeats it.
  uint32 tag = 1;
  oneof request {
    StepBatchRequest step = 2;
    ResetBatchRequest reset = 3;
  }
}

message RunBatchResponse {
  uint32 tag = 1;
  oneof answer {
    Step step = 2;
    // The error of a failed request, with google.rpc.ErrorInfo in the details.
    google.rpc.Status error = 15;
  }
}

message SaveBatchRequest {
  string batch_id = 1;
  // As in ResetBatchRequest.
  bytes mask = 2;
}

message SaveBatchResponse {
  // LoadBatch accepts it on a server with the same snapshot key.
  bytes snapshot = 1;
}

message DescribeEnvironmentRequest {
  string batch_id = 1;
  // Counted from 0 within the batch.
  uint32 environment = 2;
  uint32 seat = 3;
  // Exchanges names in the response, as in Extras.
  optional fixed64 label_seed = 4;
}

message DescribeEnvironmentResponse {
  string text = 1;
  // The legal actions of the seat, in the order of their indices; none when it owes no decision.
  repeated LegalAction actions = 2;
}

message LoadBatchRequest {
  // A batch of the same table and `skip_forced` as the saved one.
  string batch_id = 1;
  bytes snapshot = 2;
  // The environments to replace, as in ResetBatchRequest: as many as were saved, each with the line-up of its saved environment.
  bytes mask = 3;
}

message LoadBatchResponse {
  // The rows of all environments, without rewards.
  Step step = 1;
}

message CloseBatchRequest {
  string batch_id = 1;
}

message CloseBatchResponse {}

message BatchConfig {
  string game = 1;
  // Environment number i has line-up `i % line_ups`. At most 1,024, all with the same number of seats.
  repeated LineUp line_ups = 2;
  // Options by name. Missing options have their defaults. `Batch.config` has the value of every option.
  map<string, string> options = 3;
  uint32 environments = 4;
  // The number of the first environment. The episodes of environment number i depend only on i and `seed`. So you can open parts of a large batch
  // separately.
  uint64 first_environment = 5;
  // The seed that determines the seeds of all episodes. If absent, the server draws one.
  optional fixed64 seed = 6;
  // Whether all line-ups play the same deals. Environment i then gets the seeds that environment `i / line_ups` would get without this option.
  bool duplicate_deals = 7;
  RewardKind reward = 8;
  AutoresetMode autoreset = 9;
  IllegalActionPolicy illegal_actions = 10;
  // Whether the engine plays agents' decisions with a single legal action. `ply` then reveals forced decisions. That is harmless, because one owner
  // plays all agents.
  bool skip_forced = 11;
  BatchColumns columns = 12;
}

// Many environments of one table, which one trusted owner steps together.
message Batch {
  string id = 1;
  BatchConfig config = 2;
  uint32 view_bytes = 3;
  uint32 mask_bytes = 4;
  // The maximum number of agents in a line-up. `Step.final_view` has this many rows for each episode.
  uint32 agents = 5;
  string spec_digest = 6;
}

message LineUp {
  // The player at each seat. At least one is an agent, which the owner of the batch plays.
  repeated Player players = 1;
}

// Columns of Step that the server sends on request.
message BatchColumns {
  bool scores = 1;
  bool final_views = 2;
  bool episodes = 3;
  // `oracle` and `oracle_mask`: for critics in training, which may see more than the deciding seat.
  bool oracle = 4;
  // `advice` of this bot or policy.
  Player advice = 5;
  // `advice_shares` of this bot or policy.
  bool advice_shares = 6;
  bool estimates = 7;
}

// The decisions of a batch's environments, or of a search's worlds, as columns with n rows. Numbers have their low byte first. k is the number of
// episodes that ended in this step. A search sends only `seat`, `flags`, `ply`, `reward`, `mask` and `view`.
message Step {
  // The environment of the first row.
  uint32 first = 1;
  // The number of this response, from 1: one more than the highest number of an earlier response with any of its environments.
  uint64 sequence = 2;
  // uint8[n]: the seat that decides; 255 when the episode is over. In a batch: the lowest pending agent. In a search: the seat that the world was
  // sampled for if it is pending, else the lowest pending seat.
  bytes seat = 3;
  // uint8[n], a sum of: 1 terminated, 2 truncated, 4 the server replaced an illegal action, 8 forfeited (with 1). With AUTORESET_MODE_SAME_STEP they
  // describe the episode that ended.
  bytes flags = 4;
  // uint32[n]: the number of actions applied in the episode; in a search, since the world was sampled.
  bytes ply = 5;
  // float32[n, seats]: the reward of each seat in seat order; zero unless an episode ended in this step.
  bytes reward = 6;
  // uint8[n, mask_bytes]: the legal actions, action `i` as bit `i % 8` of byte `i / 8`; all zero when over.
  bytes mask = 7;
  // uint32[n]: the number of the episode, from 0; on request.
  bytes episode = 8;
  // uint32[k]: the environments whose episodes ended, ascending.
  bytes ended = 9;
  // int32[k, seats]: their final scores; zero when truncated or forfeited; on request.
  bytes scores = 10;
  // uint8[k, seats]: their places, 1 is first; zero when truncated; on request.
  bytes ranks = 11;
  // uint8[k, agents, view_bytes]: the final view of each agent, in seat order; zero where a line-up has fewer agents; on request.
  bytes final_view = 12;
  // uint8[n]: the action that `BatchColumns.advice` would choose from what the row's seat knows; 255 when over; on request.
  bytes advice = 13;
  // uint8[n, seats, view_bytes]: the view of each seat, clockwise from the row's seat, each laid out as `view`; all zero when over; on request.
  // Together they show everything that any seat knows.
  bytes oracle = 14;
  // uint8[n, view_bytes]: what the row's seat may know. When over: what the lowest agent may know, or in a search the seat that the world was sampled
  // for.
  bytes view = 15;
  // float32[n, actions]: the weight that `advice` gives each action; the sum is 1. For `mc` its share of the playouts, for a policy its probability,
  // for other bots 1 for their choice. All zero when over; on request.
  bytes advice_shares = 16;
  // uint8[n, seats, mask_bytes]: the legal actions of each seat, clockwise from the row's seat, each as `mask`; all zero for seats that are not
  // pending; on request, with `oracle`.
  bytes oracle_mask = 17;
  // float32[n, actions]: the mean over 8 sampled states of the game's estimate for the row's seat one ply ahead, as `greedy` compares it: `greedy` as
  // adviser chooses the lowest action with the greatest number. In the units of the game's estimate. NaN for illegal actions; on request.
  bytes estimates = 18;
}

// What happens when an episode has ended, as in Gymnasium.
enum AutoresetMode {
  AUTORESET_MODE_UNSPECIFIED = 0;
  // The next step ignores its action and begins the next episode. Its row shows the first decision, without reward or flags.
  AUTORESET_MODE_NEXT_STEP = 1;
  // The same step begins the next episode. Its row shows the first decision, with the rewards and flags of the episode that ended.
  AUTORESET_MODE_SAME_STEP = 2;
  // The environment stays in its final position. Its steps fail with ENVIRONMENT_OVER until ResetBatch begins the next episode.
  AUTORESET_MODE_DISABLED = 3;
}
"#),

("boardwire/v1/catalog.proto", r#"// Describes the server and its games: options, actions, layouts of views, component tables.

syntax = "proto3";

package boardwire.v1;

import "google/protobuf/duration.proto";

option go_package = "boardwire/v1;boardwirev1";
option java_multiple_files = true;
option java_package = "com.boardwire.v1";

// Describes the server and its games. The descriptions do not change while the server runs, so fetch them once. All calls are safe to retry and need
// no token.
//
//   method     unknown game     impossible seats or options
//   GetGame    GAME_UNKNOWN     SEATS_OUT_OF_RANGE, OPTION_UNKNOWN, OPTION_VALUE_INVALID
service CatalogService {
  // Gets the server's version, features, limits, bots and policies.
  rpc GetServer(GetServerRequest) returns (GetServerResponse);
  // Lists the games, in the order of their ids in the catalogue.
  rpc ListGames(ListGamesRequest) returns (ListGamesResponse);
  // Gets the description of one table of a game: a number of seats with options.
  rpc GetGame(GetGameRequest) returns (GetGameResponse);
}

message GetServerRequest {}

message GetServerResponse {
  Server server = 1;
}

message ListGamesRequest {
  // The maximum number of games; 0 lets the server choose.
  int32 page_size = 1;
  // `next_page_token` of the previous page; empty for the first page.
  string page_token = 2;
}

message ListGamesResponse {
  repeated Game games = 1;
  // Empty on the last page.
  string next_page_token = 2;
}

message GetGameRequest {
  // The game's id, such as `faraway`.
  string game = 1;
  // 0 for the minimum number of the game.
  uint32 seats = 2;
  map<string, string> options = 3;
  // Exchanges names in `rules` and `how_to_play`, as in Extras. `spec` keeps its names, since its digest covers them.
  optional fixed64 label_seed = 4;
}

message GetGameResponse {
  GameSpec spec = 1;
  // The rules of the game in Markdown.
  string rules = 2;
  // The part of the rules that a player needs first.
  string how_to_play = 3;
}

message Server {
  string version = 1;
  repeated string protocols = 2;
  // The optional parts of the protocol that the server supports, by their names in docs/protocol.md.
  repeated string features = 3;
  Limits limits = 4;
  // The bots that matches and batches can use.
  repeated BotSpec bots = 5;
  // The networks of the policies that matches and batches can use. A policy has one for each table that it can play at.
  repeated PolicySpec policies = 6;
}

message BotSpec {
  // The name, such as `greedy`. The bot `search` also needs a policy.
  string name = 1;
  repeated BotParameter parameters = 2;
}

message BotParameter {
  // The name, such as `worlds`.
  string name = 1;
  uint32 default_value = 2;
  uint32 min = 3;
  uint32 max = 4;
}

message PolicySpec {
  // The name of the policy, for `Player.Policy` and the bot `search`.
  string name = 1;
  // The spec digest of the table (game, seats and options) for which the network was trained.
  string spec_digest = 2;
  // The game, seats and options of this table; empty if the server does not know it.
  string game = 3;
  uint32 seats = 4;
  map<string, string> options = 5;
}

message Limits {
  // The maximum size of a message that the server sends, and that LoadBatch accepts, in bytes.
  uint32 message_bytes = 1;
  // The maximum number of open matches of all callers.
  uint32 matches = 2;
  uint32 matches_per_caller = 3;
  // The maximum number of waiting calls of one seat.
  uint32 waiting_calls = 4;
  // How long an idle match stays open.
  google.protobuf.Duration match_idle_timeout = 5;
  // The maximum number of open batches and searches of all callers. One caller may have three quarters of them.
  uint32 batches = 6;
  // The maximum number of environments and places of all batches and searches.
  uint32 environments = 7;
  uint32 environments_per_caller = 8;
  // How long an idle batch or search stays open.
  google.protobuf.Duration batch_idle_timeout = 9;
  // How long an agent may take to call OpenDeal, once all agents have joined.
  google.protobuf.Duration opening_timeout = 10;
}

// A game before seats and options are chosen.
message Game {
  // The id, such as `golden_compass`.
  string id = 1;
  // The name on the box.
  string name = 2;
  // Changes when the same actions no longer give the same states.
  uint32 rules_version = 3;
  uint32 min_seats = 4;
  uint32 max_seats = 5;
  repeated GameOption options = 6;
  // The BLAKE3 digest of the component catalogue: 64 hexadecimal digits.
  string catalogue_digest = 7;
}

message GameOption {
  string name = 1;
  // One sentence that says what it does.
  string description = 2;
  string default_value = 3;
  // The allowed values, if the option has a few named values. For a flag: `true` and `false`.
  repeated string choices = 4;
  optional sint64 min = 5;
  optional sint64 max = 6;
}

// One table of a game, with seats and options. It describes the layout of the data in steps and observations.
message GameSpec {
  Game game = 1;
  uint32 seats = 2;
  map<string, string> options = 3;
  // Action `i` is `actions[i]`.
  repeated Action actions = 4;
  // The fields of a seat's view, in the order of their bytes.
  repeated ViewField fields = 5;
  uint32 view_bytes = 6;
  // ceil(actions / 8). Action `i` is bit `i % 8` of byte `i / 8`.
  uint32 mask_bytes = 7;
  // The component catalogue as integer matrices.
  repeated ComponentTable tables = 8;
  // The number of plies after which an episode is truncated.
  uint32 max_plies = 9;
  sint32 min_score = 10;
  sint32 max_score = 11;
  // The BLAKE3 digest of this description: 64 hexadecimal digits.
  string spec_digest = 12;
  // The fields of the public's view.
  repeated ViewField public_fields = 13;
  uint32 public_view_bytes = 14;
}

message Action {
  // The text of the action, unique in the game.
  string label = 1;
  // What it does, such as `draft`.
  string verb = 2;
  // The table of the component that the action uses; empty for none.
  string table = 3;
  // The row of that table; without a table, a number that distinguishes actions with the same verb.
  uint32 row = 4;
}

message ViewField {
  // The name, such as `lines`.
  string name = 1;
  // The offset of its first byte.
  uint32 offset = 2;
  // The dimensions, the slowest-changing first; none for a single value.
  repeated Axis axes = 3;
  // The maximum value. If it is above 255, a value has two bytes, low byte first; otherwise one byte.
  uint32 max = 4;
  ValueKind kind = 5;
  // The table whose rows the values name, for VALUE_KIND_ID.
  string table = 6;
  // The name of each value, for VALUE_KIND_CATEGORY.
  repeated string names = 7;
  // One sentence for people.
  string description = 8;
  // A value that is seldom exceeded in ordinary play; use it to scale. At most `max`, which can be much higher.
  uint32 usual_max = 9;
  // How many values of a seat can name the same row at the same time, for VALUE_KIND_ID; otherwise 1.
  uint32 copies = 10;
}

message Axis {
  // The meaning of an index: `seat` for all seats clockwise from the viewer, `other seat` for all seats but the viewer, or a word such as `round`.
  string name = 1;
  uint32 size = 2;
  AxisOrder order = 3;
  // The table whose rows 1, 2, ... the axis lists; empty for none.
  string table = 4;
}

// A part of the catalogue as a matrix: row `i` describes id `i`.
message ComponentTable {
  // The name by which fields, actions and columns refer to the table.
  string name = 1;
  repeated Column columns = 2;
  // The number of rows, including row 0, which is all zero and means none.
  uint32 rows = 3;
  // The values row by row: `rows * columns` numbers.
  repeated sint32 values = 4;
}

message Column {
  // The name, such as `duration`.
  string name = 1;
  ValueKind kind = 2;
  // The table whose rows the values name, for VALUE_KIND_ID.
  string table = 3;
  // The name of each value, for VALUE_KIND_CATEGORY.
  repeated string names = 4;
}

// What the positions along an axis mean.
enum AxisOrder {
  AXIS_ORDER_UNSPECIFIED = 0;
  // No meaning: the values are in ascending order, with empty ones (0) last. No other field refers to them by position.
  AXIS_ORDER_NONE = 1;
  // Positions in time: rounds, turns.
  AXIS_ORDER_SEQUENCE = 2;
  // Names of things: seats, cells of a board, rows of a table.
  AXIS_ORDER_PLACES = 3;
}

// What the values of a field or column mean.
enum ValueKind {
  VALUE_KIND_UNSPECIFIED = 0;
  // The row of a table; 0 is none.
  VALUE_KIND_ID = 1;
  // A number of things, or a position on a track.
  VALUE_KIND_COUNT = 2;
  // 0 or 1.
  VALUE_KIND_FLAG = 3;
  // A seat relative to the viewer: 0 none, 1 the viewer, 2 the next clockwise, and so on; for the public 1 is seat 0.
  VALUE_KIND_SEAT = 4;
  // One of a few named values: value `i` is `names[i]`.
  VALUE_KIND_CATEGORY = 5;
}
"#),

("boardwire/v1/match.proto", r#"// A match as the public may know it, and its configuration.

syntax = "proto3";

package boardwire.v1;

import "google/protobuf/duration.proto";
import "google/protobuf/timestamp.proto";

option go_package = "boardwire/v1;boardwirev1";
option java_multiple_files = true;
option java_package = "com.boardwire.v1";

message MatchConfig {
  string game = 1;
  // The player at each seat, in seat order.
  repeated Player players = 2;
  // Options by name. Missing options have their defaults. `Match.config` has the value of every option.
  map<string, string> options = 3;
  RewardKind reward = 4;
  // Whether the engine plays the agent's decisions with a single legal action. Only with one agent, because other agents would see that a hidden hand
  // left only one choice.
  bool skip_forced = 5;
  IllegalActionPolicy illegal_actions = 6;
  // Whether the agent may give the seed of the next episode, if the match has exactly one agent. For training, never for evaluation: a seed reveals
  // every hidden card.
  bool seat_may_seed = 7;
  // Whether the match is unlisted, and needs one of its tokens to be shown: of the host, a seat or the spectators.
  bool private = 8;
  // Public labels, by which ListMatches can filter. At most 16. A name has 1 to 63 bytes of `a-z`, `0-9`, `_`, `-` and `.`, a value at most 128
  // bytes.
  map<string, string> labels = 9;
  // The delay before the server shows a position, at most a day. Watch delays it for every caller. GetReplay, GetMatch and ListMatches delay it for
  // callers that are neither the host nor a seat.
  google.protobuf.Duration watch_delay = 10;
  // Time limits of agents: empty for none, one for all agents, or one for each seat in seat order. An empty clock sets no limit, and clocks of bots
  // are ignored. `Match.config` has one for each seat.
  repeated Clock clocks = 11;
  // Whether every agent contributes to the deals, so that no party can choose them. Excludes seeds.
  bool fair_deals = 12;
  // The number of episodes after which the match closes; 0 for no limit. The server keeps replays of the present episode and the four before it. To
  // keep more, the host fetches each replay when its episode is over.
  uint32 episodes = 13;
  // Whether only the host begins episodes, so that it can choose each deal and record each result. Excludes `seat_may_seed`.
  bool host_begins = 14;
}

message Player {
  // A client. In a match, the agent that joins with the invitation; in a batch, its owner.
  message Agent {}

  // A bot of the server.
  message Bot {
    // `random`, `greedy`, `mc`, `search` or `strong`.
    string name = 1;
    // Parameters by name. Missing parameters have their defaults. `greedy` has `worlds`: it averages over this many sampled states, 1 to 1024. `mc`
    // and `search` have `playouts`: 1 to 10000.
    map<string, uint32> parameters = 2;
    // The name of the policy that `search` uses. Empty for other bots.
    string policy = 3;
  }

  // A policy that the server was started with.
  message Policy {
    string name = 1;
    // Whether it takes its most likely action instead of sampling one.
    bool argmax = 2;
  }

  oneof kind {
    Agent agent = 1;
    Bot bot = 2;
    Policy policy = 3;
  }
}

// What the public may know of a match.
message Match {
  string id = 1;
  MatchConfig config = 2;
  string spec_digest = 3;
  MatchState state = 4;
  // Unspecified while the match is open.
  CloseReason close_reason = 5;
  // The seats of bots and the seats that agents have joined, ascending.
  repeated uint32 joined = 6;
  // The seats that the match waits for, ascending. Before the deal, the match waits for them to join, or to send their
  // secret with OpenDeal. During an episode, it waits for their decisions. After an episode, it waits for them to ask for the next one.
  repeated uint32 waiting_for = 7;
  uint32 episode = 8;
  // The number of actions applied in the episode.
  uint32 ply = 9;
  // Truncated to the second, like the time below.
  google.protobuf.Timestamp create_time = 10;
  // When the last action was applied; before the first, when the episode was dealt.
  google.protobuf.Timestamp last_action_time = 11;
  // The commitment to the episode's key, 32 bytes; empty before the deal. BLAKE3 of the match's id (32 ASCII characters), the episode (4 bytes, low
  // first), the spec digest (32 bytes), the key (32 bytes) and a secret salt (16 bytes).
  bytes seed_commitment = 12;
  SeedSource seed_source = 13;
  // What opens the commitment. After the episode, the host and the seats see it if the server drew the seed. Only the host sees it if a caller gave
  // the seed, because later seeds follow from it. After the match is closed, every caller sees it.
  optional SeedOpening seed_opening = 14;
  // Present with fair deals.
  FairDeal fair = 15;
  // A hash of the other fields. GetMatch waits with it for a change.
  string etag = 16;
}

// A deal to which all parties contribute. All hashes are SHA-256.
message FairDeal {
  // The server's commitment, 32 bytes: its secret for episode `e`, hashed `e + 1` times.
  bytes server_commitment = 1;
  // The commitment of each seat, in seat order, 32 bytes: the hash of its secret. Empty for bots, and for agents that have not joined.
  repeated bytes seat_commitments = 2;
  // The secret of each seat, in seat order, 32 bytes. Empty for bots, and until all agents have sent theirs with OpenDeal.
  repeated bytes seat_secrets = 3;
}

// A seat's time limits. The clock of a seat starts when the server can show the seat that it owes a decision, and no bot is thinking. It stops when
// the seat's Act arrives. Clocks wait until all agents have joined, but at most a minute after the match was created. Connections neither start nor
// stop them. Time in which the server is down or stalled does not count.
message Clock {
  // The time for each decision before the bank is used. This and the two times below are at most a day.
  google.protobuf.Duration limit = 1;
  // The time for the whole episode, for decisions that take longer than the limit.
  google.protobuf.Duration bank = 2;
  // Added to the bank after each decision made in time.
  google.protobuf.Duration increment = 3;
  // How many timeouts of an episode the server forgives, at most 100. After each, the time of the decision starts again.
  uint32 strikes = 4;
  // What happens at a timeout without a strike left.
  TimeoutPolicy on_timeout = 5;
  // The bot or policy of TIMEOUT_POLICY_BOT.
  Player bot = 6;
}

// What happens when a seat's time has run out.
enum TimeoutPolicy {
  TIMEOUT_POLICY_UNSPECIFIED = 0;
  // The episode ends: the seat is last, the other seats share the first place.
  TIMEOUT_POLICY_FORFEIT = 1;
  // The server plays the legal action with the lowest index.
  TIMEOUT_POLICY_FIRST_LEGAL = 2;
  // The server plays a legal action drawn from the episode's seed.
  TIMEOUT_POLICY_SEEDED_LEGAL = 3;
  // A bot decides from what the seat knows.
  TIMEOUT_POLICY_BOT = 4;
}

// What opens the commitment to an episode's key.
message SeedOpening {
  // Present if a caller gave the seed, or if it follows from a seed that a caller gave.
  optional fixed64 seed = 1;
  // 16 bytes.
  bytes salt = 2;
  // The episode's key, 32 bytes. If a caller gave the seed: its 8 bytes, low first, then 24 zero bytes.
  bytes key = 3;
  // With fair deals, the server's secret for this episode, 32 bytes. The key is then the hash of `boardwire fair deal` (19 ASCII characters), the
  // match's id (32), the episode (4 bytes, low first), this secret, and for each agent's seat, ascending, its number (1 byte) and its secret (32
  // bytes).
  bytes server_secret = 4;
}

// Lets one agent join once.
message Invitation {
  uint32 seat = 1;
  // The secret that JoinMatch takes.
  string code = 2;
}

// Where a seed comes from.
enum SeedSource {
  SEED_SOURCE_UNSPECIFIED = 0;
  // The server drew it. No party knows it before the server shows it.
  SEED_SOURCE_DRAWN = 1;
  // The host or the agent gave this seed, or an earlier one that it follows from. That party can compute every hidden card.
  SEED_SOURCE_GIVEN = 2;
}

// The reward of a seat at the end of an episode. Rewards are not part of the rules.
enum RewardKind {
  REWARD_KIND_UNSPECIFIED = 0;
  // From +1 for the first place to -1 for the last, in equal steps. Ties share the mean. The sum is zero.
  REWARD_KIND_RANK = 1;
  // 1 divided between the winners, 0 for the other seats.
  REWARD_KIND_WIN = 2;
  // The seat's score minus the best score of another seat.
  REWARD_KIND_MARGIN = 3;
  REWARD_KIND_SCORE = 4;
}

// What happens to an action that exists but is illegal now. An index beyond the action space is always an error.
enum IllegalActionPolicy {
  ILLEGAL_ACTION_POLICY_UNSPECIFIED = 0;
  // The call fails with ACTION_ILLEGAL.
  ILLEGAL_ACTION_POLICY_REJECT = 1;
  // The server plays the legal action with the lowest index.
  ILLEGAL_ACTION_POLICY_FIRST_LEGAL = 2;
  // The server plays a legal action drawn from the episode's seed.
  ILLEGAL_ACTION_POLICY_SEEDED_LEGAL = 3;
  // The episode ends: the seat is last, the other seats share the first place.
  ILLEGAL_ACTION_POLICY_FORFEIT = 4;
}

// Why a match was closed.
enum CloseReason {
  CLOSE_REASON_UNSPECIFIED = 0;
  CLOSE_REASON_HOST = 1;
  CLOSE_REASON_IDLE = 2;
  CLOSE_REASON_BOT_FAILED = 3;
  CLOSE_REASON_SHUTTING_DOWN = 4;
  // Agents did not send their secrets with OpenDeal in time, so they forfeited the match.
  CLOSE_REASON_WITHHELD = 5;
  // The match has played all its `episodes`. Observe still shows the end of the last one.
  CLOSE_REASON_FINISHED = 6;
}

// The state of a match.
enum MatchState {
  MATCH_STATE_UNSPECIFIED = 0;
  // A seat owes a decision.
  MATCH_STATE_PLAYING = 1;
  // The present episode has ended; a reset begins the next.
  MATCH_STATE_OVER = 2;
  MATCH_STATE_CLOSED = 3;
  // The first episode is not dealt yet: in a match with fair deals, all agents must join and call OpenDeal first.
  MATCH_STATE_GATHERING = 4;
}
"#),

("boardwire/v1/match_service.proto", r#"// One match between mutually distrusting seats, with agents and server bots in any mix.
//
// Seats and host send their token as `authorization: Bearer TOKEN` in the call's metadata. A response to a seat contains only what that seat may
// know.

syntax = "proto3";

package boardwire.v1;

import "boardwire/v1/catalog.proto";
import "boardwire/v1/match.proto";
import "boardwire/v1/observation.proto";
import "boardwire/v1/replay.proto";
import "google/protobuf/duration.proto";
import "google/rpc/status.proto";

option go_package = "boardwire/v1;boardwirev1";
option java_multiple_files = true;
option java_package = "com.boardwire.v1";

// Plays matches. Every error status has google.rpc.ErrorInfo: a reason, and each value of the message as metadata.
//
// A call that fails changes nothing, with two exceptions. After a lost response, the call may have succeeded. After JOURNAL_FAILED, the change may be
// unwritten. Repeat the call then: if it is safe to retry, the server makes the change once. A call that waits after its change, such as Act with
// `wait`, also fails when the match closes. Its change remains.
//
// What a method does depends on the state of the match:
//
//   method      GATHERING                 PLAYING                      OVER                    CLOSED
//   JoinMatch   takes the seat            takes the seat               takes the seat          MATCH_CLOSED
//   Invite      gives the seat away (1)   gives the seat away          gives the seat away     MATCH_CLOSED
//   OpenDeal    opens, once all joined    changes nothing              changes nothing         MATCH_CLOSED (2)
//   Observe     NOT_DEALT, or waits       shows; `wait`: when pending  shows                   MATCH_CLOSED (2)
//   Act         NOT_DEALT                 decides, or NOT_YOUR_TURN    EPISODE_OVER (3)        MATCH_CLOSED (2)
//   Reset       NOT_DEALT                 EPISODE_NOT_OVER (4)         asks, waits for others  MATCH_CLOSED
//   ResetMatch  NOT_DEALT                 begins the next (5)          begins the next (6)     MATCH_CLOSED
//   Resign      NOT_DEALT                 ends the episode             EPISODE_OVER (3)        MATCH_CLOSED (2)
//   GetReplay   NOT_DEALT                 own decisions                all decisions, the key  all decisions, the key
//   Watch       waits for the deal        shows each position          waits                   shows the rest, ends
//
// (1) NOT_DEALT once all have joined, because agents are then sending their secrets. (2) After all `episodes`, Observe shows the end of the last one,
// Act and Resign fail with EPISODE_OVER, and OpenDeal changes nothing. (3) A repeated call that ended the episode succeeds. (4) An agent that plays
// only against bots leaves the episode and begins the next, with the exceptions of Reset. (5) EPISODE_NOT_OVER with fair deals. (6) With
// `host_begins` it waits until every agent has called Reset. If the server closed the match before its end, calls fail with MATCH_EXPIRED,
// BOT_FAILED, DEAL_WITHHELD or SHUTTING_DOWN instead of MATCH_CLOSED.
service MatchService {
  // Creates a match and deals its first episode. Safe to retry with the same `request_id`.
  rpc CreateMatch(CreateMatchRequest) returns (CreateMatchResponse);
  // Gets what the public may know of a match. A private match needs one of its tokens. The host and the seats also get the seed of an ended episode
  // in an open match. Can wait for a change. Safe to retry.
  rpc GetMatch(GetMatchRequest) returns (GetMatchResponse);
  // Lists the matches that are not private. Closed matches stay in the list for a while. Shows no seed of an open match. Safe to retry.
  rpc ListMatches(ListMatchesRequest) returns (ListMatchesResponse);
  // Exchanges an invitation for a seat's token. Safe to retry with the same `request_id`.
  rpc JoinMatch(JoinMatchRequest) returns (JoinMatchResponse);
  // Gives an agent's seat to another agent, or again to an agent that has lost its token; host only. The former invitation and token become invalid.
  rpc Invite(InviteRequest) returns (InviteResponse);
  // Sends the seat's secret for fair deals, and responds when all agents have joined. Call it only when `Match.fair.seat_commitments` has a
  // commitment of every agent, because the call tells the server the secret. The server deals the first episode when it has all secrets. A seat that
  // does not call within the server's opening timeout (by default 30 seconds) forfeits the match. Safe to retry.
  rpc OpenDeal(OpenDealRequest) returns (OpenDealResponse);
  // Gets the seat's observation, immediately or when the seat owes a decision. Safe to retry.
  rpc Observe(ObserveRequest) returns (ObserveResponse);
  // Makes the seat's decision. Safe to retry: a repeated decision with the same action changes nothing.
  rpc Act(ActRequest) returns (ActResponse);
  // Asks for the next episode, for a seat, when the present one is over. Responds when the next episode begins: when every agent has asked and, with
  // `host_begins`, the host has called ResetMatch. An agent that plays only against bots may leave an episode before its end, unless the match has
  // `episodes`, `host_begins` or fair deals. Safe to retry with `episode`.
  rpc Reset(ResetRequest) returns (ResetResponse);
  // Begins the next episode, for the host, at any time. With fair deals, the present episode must be over. With `host_begins` the call waits until
  // every agent has called Reset, so all have seen the end of the present episode. Safe to retry with `episode`.
  rpc ResetMatch(ResetMatchRequest) returns (ResetMatchResponse);
  // Gives up the present episode for a seat: the seat is last, the other seats share the first place. The host names the seat. Safe to retry with
  // `episode`.
  rpc Resign(ResignRequest) returns (ResignResponse);
  // Runs Observe, Act, Reset and Resign on one stream, in order. It is faster than single calls. The client sends the token when it opens the stream,
  // and the server checks it for each request. A request that fails gets an error, and the stream continues. A request that waits delays the requests
  // after it. To resign while one waits, call Resign separately.
  rpc Play(stream PlayRequest) returns (stream PlayResponse);
  // Gets an episode position by position. A seat gets what it saw. The host and spectators get the public view; so do callers without a token, unless
  // the match is private. During the episode, it shows the viewer's own decisions. Afterwards, it shows all decisions and the key, so that you can
  // verify everything. Safe to retry.
  rpc GetReplay(GetReplayRequest) returns (GetReplayResponse);
  // Streams the public view of every position while the match is played. A private match needs one of its tokens. Ends when the host closes the
  // match, or after the last of `episodes`. After a lost stream, resume with the last frame that you have. A slow client falls behind and delays no
  // other caller.
  rpc Watch(WatchRequest) returns (stream WatchResponse);
  // Closes the match; host only. Waiting calls fail with MATCH_CLOSED. Safe to retry.
  rpc CloseMatch(CloseMatchRequest) returns (CloseMatchResponse);
}

message CreateMatchRequest {
  MatchConfig config = 1;
  // The seed of the first episode. If absent, the server draws a secret one. The caller can compute every hidden card from a seed, so omit it when
  // seats distrust the host.
  optional fixed64 seed = 2;
  // A new random UUID, or empty. A repeated request with the same id gets the first response. With other contents or from another account, it fails
  // with REQUEST_ID_REUSED.
  string request_id = 3;
}

message CreateMatchResponse {
  Match match = 1;
  // One for each agent's seat, in seat order.
  repeated Invitation invitations = 2;
  // The token to close and reset the match. It shows no seat's cards.
  string host_token = 3;
  // The token that shows the public view of a private match.
  string spectator_token = 4;
}

message GetMatchRequest {
  string match_id = 1;
  // The `etag` of the match that the client has. The call then waits until the match differs or is closed. If empty, it responds at once.
  string known_etag = 2;
}

message GetMatchResponse {
  Match match = 1;
}

message ListMatchesRequest {
  // The maximum number of matches, at most 1000; 0 lets the server choose.
  int32 page_size = 1;
  // `next_page_token` of the previous page, with the same filters; empty for the first page.
  string page_token = 2;
  // Only matches of this game; empty for all.
  string game = 3;
  // Only matches in these states; empty for all.
  repeated MatchState states = 4;
  // Only matches with all of these labels.
  map<string, string> labels = 5;
}

// A page of matches, in the order of their ids.
message ListMatchesResponse {
  repeated Match matches = 1;
  // Empty on the last page.
  string next_page_token = 2;
}

message JoinMatchRequest {
  // The code of the invitation.
  string code = 1;
  // A new random UUID, or empty. A repeated request with the same id gets the first response.
  string request_id = 2;
  // With fair deals, the SHA-256 of the agent's secret of 32 random bytes; else ignored.
  bytes commitment = 3;
  // Whether to add the description of the table.
  bool with_spec = 4;
}

message JoinMatchResponse {
  Match match = 1;
  uint32 seat = 2;
  // The seat's secret token, valid over any connection until the match is closed.
  string token = 3;
  // What GetGame returns for the table, if the request asks for it.
  GameSpec spec = 4;
}

message InviteRequest {
  string match_id = 1;
  uint32 seat = 2;
}

message InviteResponse {
  Invitation invitation = 1;
}

message OpenDealRequest {
  string match_id = 1;
  // The 32 bytes whose SHA-256 was the seat's commitment.
  bytes secret = 2;
}

message OpenDealResponse {}

message ObserveRequest {
  string match_id = 1;
  // Whether to respond only when the seat is pending or the episode is over.
  bool wait = 2;
  Extras extras = 3;
}

message ObserveResponse {
  Observation observation = 1;
}

message ActRequest {
  string match_id = 1;
  // The episode and the decision of the observation that the action responds to.
  uint32 episode = 2;
  uint32 decision = 3;
  uint32 action = 4;
  bool wait = 5;
  Extras extras = 6;
  // How long the agent thought, from the observation to this request. The rest of the time is network time, which the seat's clock does not count, up
  // to a quota.
  google.protobuf.Duration thought = 7;
}

message ActResponse {
  Observation observation = 1;
}

message ResetMatchRequest {
  string match_id = 1;
  // The seed of the next episode. If absent, it follows from the last seed that a caller gave. If no caller gave one, the server draws it.
  optional fixed64 seed = 2;
  // The episode to leave, by default the present one. If the match has already left it, the call changes nothing.
  optional uint32 episode = 3;
}

message ResetMatchResponse {
  Match match = 1;
}

message ResetRequest {
  string match_id = 1;
  // The seed of the next episode. Allowed with `seat_may_seed`, if the match has exactly one agent.
  optional fixed64 seed = 2;
  // The episode to leave, by default the present one. If the match has already left it, the response shows the present one.
  optional uint32 episode = 3;
  bool wait = 4;
  Extras extras = 5;
}

message ResetResponse {
  Observation observation = 1;
}

message ResignRequest {
  string match_id = 1;
  // The episode to give up, by default the present one; without it, the call is not safe to retry. Fails for an episode that the match has left, or
  // that ended otherwise.
  optional uint32 episode = 2;
  // The agent's seat that loses the episode; only for the host.
  optional uint32 seat = 3;
  Extras extras = 4;
}

message ResignResponse {
  Observation observation = 1;
}

message GetReplayRequest {
  string match_id = 1;
  // The episode, by default the present one. The server keeps it and the four before it.
  optional uint32 episode = 2;
}

message GetReplayResponse {
  Replay replay = 1;
}

message WatchRequest {
  string match_id = 1;
  // The number of the last frame that the client has. The stream begins after it; if absent, with the present position. The server keeps the frames
  // of the present episode and the four before it.
  optional uint64 after = 2;
  // Whether to add a picture and text.
  bool depict = 3;
}

message WatchResponse {
  Frame frame = 1;
  Depiction depiction = 2;
}

message PlayRequest {
  // A number that the client chooses. The response repeats it.
  uint32 tag = 1;
  oneof request {
    ObserveRequest observe = 2;
    ActRequest act = 3;
    ResetRequest reset = 4;
    ResignRequest resign = 5;
  }
}

message PlayResponse {
  uint32 tag = 1;
  oneof answer {
    ObserveResponse observe = 2;
    ActResponse act = 3;
    ResetResponse reset = 4;
    ResignResponse resign = 5;
    // The error of a failed request, with google.rpc.ErrorInfo in the details.
    google.rpc.Status error = 15;
  }
}

message CloseMatchRequest {
  string match_id = 1;
}

message CloseMatchResponse {
  Match match = 1;
}
"#),

("boardwire/v1/observation.proto", r#"// Defines what a seat sees of an episode, and how an episode ends.

syntax = "proto3";

package boardwire.v1;

import "google/protobuf/duration.proto";

option go_package = "boardwire/v1;boardwirev1";
option java_multiple_files = true;
option java_package = "com.boardwire.v1";

// Parts of an observation that the server sends on request.
message Extras {
  // The position as text.
  bool text = 1;
  // The explanation of each seat's score, once the episode is over.
  bool explanation = 2;
  // The legal actions with their labels and phrases.
  bool actions = 3;
  // The end of the chain of decisions, see Frame.head. An agent that saves it can compare it with the replay.
  bool head = 4;
  // What happened since the last decision of the seat.
  bool history = 5;
  // Exchanges names in text, phrases, labels, explanations and history for neutral ones, such as `city 3`. The same seed gives the same exchange in
  // all calls.
  optional fixed64 label_seed = 6;
}

// What a seat sees. It is the same in every response.
message Observation {
  uint32 episode = 1;
  // The number of actions applied, of all seats. Simultaneous choices arrive in any order, so do not use `ply` where results must be reproducible.
  uint32 ply = 2;
  // The number of decisions that this seat has made. It is also the number of the decision that Act makes next.
  uint32 decision = 3;
  // What the seat may know, laid out as GameSpec.fields says.
  bytes view = 4;
  // The legal actions, one bit each; all zero when the seat owes no decision.
  bytes mask = 5;
  // The seats that owe a decision, ascending.
  repeated uint32 pending = 6;
  // The reward since this seat's last decision. It is zero before the end of an episode, and not part of the rules.
  float reward = 7;
  // Whether the episode has ended by the rules, or by a forfeit.
  bool terminated = 8;
  // Whether the episode was truncated at its maximum length.
  bool truncated = 9;
  // Whether this seat's last action was illegal, and the server played another one.
  bool substituted = 10;
  // Present once the episode has ended.
  Outcome outcome = 11;
  // On request.
  string text = 12;
  // In the order of their indices, on request.
  repeated LegalAction actions = 13;
  // 32 bytes, on request.
  bytes head = 14;
  // The clock of each seat in seat order, empty for bots; none where no seat has one.
  repeated ClockReading clocks = 15;
  // Whether the server made this seat's last decision, because its time ran out.
  bool timed_out = 16;
  // Lines of text, on request: what the seat may know of all decisions since its last one, its last one included. Before its first decision: since
  // the deal.
  string history = 17;
}

message ClockReading {
  // How long the seat may still think about this decision, or the next. Absent if it has no clock.
  google.protobuf.Duration left = 1;
  // The part of this time that is in the bank.
  google.protobuf.Duration bank = 2;
  bool running = 3;
  // The number of strikes left.
  uint32 strikes = 4;
}

message LegalAction {
  uint32 index = 1;
  // As in GameSpec.actions, except with `label_seed`.
  string label = 2;
  // What the action does in this position, unique among the legal actions.
  string phrase = 3;
}

message Outcome {
  // The score of each seat; empty when the episode was truncated or forfeited.
  repeated sint32 scores = 1;
  // The place of each seat: 1 is first, ties have the same number. Empty when the episode was truncated.
  repeated uint32 ranks = 2;
  // The forfeit of each seat; empty without a forfeit.
  repeated Forfeit forfeits = 3;
  // The explanation of each seat's score, on request.
  repeated Explanation explanations = 4;
}

message Explanation {
  // In the order of the rulebook's scoring.
  repeated ScoreLine lines = 1;
}

message ScoreLine {
  string source = 1;
  sint32 points = 2;
}

// Why a seat forfeited an episode.
enum Forfeit {
  FORFEIT_UNSPECIFIED = 0;
  // It chose an illegal action under ILLEGAL_ACTION_POLICY_FORFEIT.
  FORFEIT_ILLEGAL_ACTION = 1;
  FORFEIT_TIME = 2;
  FORFEIT_RESIGNED = 3;
  // The host ended the episode against it.
  FORFEIT_HOST = 4;
}
"#),

("boardwire/v1/replay.proto", r#"// Defines the record of a played episode, which clients show and verify.

syntax = "proto3";

package boardwire.v1;

import "boardwire/v1/match.proto";
import "boardwire/v1/observation.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/timestamp.proto";

option go_package = "boardwire/v1;boardwirev1";
option java_multiple_files = true;
option java_package = "com.boardwire.v1";

// An episode as one viewer may see it. `boardwire verify` reads its canonical JSON.
message Replay {
  string match_id = 1;
  MatchConfig config = 2;
  string spec_digest = 3;
  uint32 episode = 4;
  // This field and the two below are as in Match.
  bytes seed_commitment = 5;
  SeedSource seed_source = 6;
  optional SeedOpening seed_opening = 7;
  // The seat whose views these are; absent for public views.
  optional uint32 viewer = 8;
  // Whether the episode is over. Then the replay shows every decision.
  bool over = 9;
  // All positions: after the deal, after each decision, and after a forfeit.
  repeated Frame frames = 10;
  // Present with fair deals.
  FairDeal fair = 11;
  // The release series that wrote the replay, such as "0.2". Only this series verifies it.
  string release = 12;
}

// A position as one viewer sees it, and the decision that led to it.
message Frame {
  // The number of the frame in the match, from 1.
  uint64 sequence = 1;
  uint32 episode = 2;
  uint32 ply = 3;
  // The time of the position, truncated to the second.
  google.protobuf.Timestamp time = 4;
  // What the viewer may know, laid out as GameSpec.fields says.
  bytes view = 5;
  repeated uint32 pending = 6;
  // The seat that decided; absent after a deal or a forfeit.
  optional uint32 seat = 7;
  // The decision; absent if the viewer may not know it yet.
  optional PlayedAction played = 8;
  // The last hash of the chain of decisions, 32 bytes. After the deal it is the seed commitment; after a decision BLAKE3, keyed with the episode's
  // key, of the head before (32 bytes), the seat, the action and the number of its ActionCause (1 byte each); after a forfeit the same of the head
  // before, the seat and the number of its Forfeit. Without the key, the head reveals nothing about hidden choices.
  bytes head = 9;
  // Present in the last frame of an episode.
  Outcome outcome = 10;
  // The time that the decision took from the seat's clock.
  google.protobuf.Duration took = 11;
}

// A position for people, with what the viewer may know.
message Depiction {
  // An SVG document without scripts, styles or links.
  string picture = 1;
  string text = 2;
}

message PlayedAction {
  uint32 action = 1;
  ActionCause cause = 2;
  // The illegal action that the agent chose, with ACTION_CAUSE_SUBSTITUTED.
  optional uint32 given = 3;
}

// The party that chose an action.
enum ActionCause {
  ACTION_CAUSE_UNSPECIFIED = 0;
  ACTION_CAUSE_AGENT = 1;
  // The server, in place of the agent's illegal action.
  ACTION_CAUSE_SUBSTITUTED = 2;
  ACTION_CAUSE_BOT = 3;
  // The engine: the action was the only legal one, and the match skips such decisions.
  ACTION_CAUSE_FORCED = 4;
  // The server, because the seat's time ran out.
  ACTION_CAUSE_TIMED_OUT = 5;
}
"#),

("boardwire/v1/search.proto", r#"// Searches ahead in worlds (determinizations): states sampled from what a seat knows, in which the search plays.
//
// The server samples what the seat cannot know, using only what the seat knows. Even many worlds do not reveal the true state. Each world has its own
// chance events, so the same actions lead to the same states.

syntax = "proto3";

package boardwire.v1;

import "boardwire/v1/batch.proto";
import "boardwire/v1/match.proto";

option go_package = "boardwire/v1;boardwirev1";
option java_multiple_files = true;
option java_package = "com.boardwire.v1";

// Searches for seats of matches and owners of batches. A call that fails changes nothing. All calls of a search need the token that it was created
// with, as `authorization: Bearer TOKEN`. Calls for one search wait for each other, except Rollout.
//
//   method         a world continues                      a world is over
//   Advance        makes the decision                     WORLD_OVER
//   Redeterminize  samples what its seat does not know    WORLD_OVER
//   Rollout        plays a copy of it                     takes its result
service SearchService {
  // Samples worlds for the seat of a match, which must owe a decision, or for the deciding seats of a batch. The lease of a search ends with
  // CloseSearch, with its connection, or after the idle timeout. Places count as environments. Safe to retry with the same `request_id`. Fails with
  // NOT_YOUR_TURN, EPISODE_OVER, NOT_DEALT, ENVIRONMENT_OVER, BATCHES_FULL, ENVIRONMENTS_FULL or CALLER_FULL.
  rpc CreateSearch(CreateSearchRequest) returns (CreateSearchResponse);
  // Makes decisions in worlds, in their places or in copies. Not safe to retry if `into` is empty. Fails with WORLD_ACTION_ILLEGAL,
  // WORLD_ACTION_OUT_OF_RANGE or WORLD_OVER for the first such row.
  rpc Advance(AdvanceRequest) returns (AdvanceResponse);
  // Samples worlds again: each from what the deciding seat of a world knows there, in its place or in another. Not safe to retry if `into` is empty.
  // Fails with WORLD_OVER for the first such row.
  rpc Redeterminize(RedeterminizeRequest) returns (RedeterminizeResponse);
  // Plays copies of worlds, each several times, and returns the mean rewards. Safe to retry with `seed`. Fails with BOT_FAILED if the policy fails.
  rpc Rollout(RolloutRequest) returns (RolloutResponse);
  // Closes a search. A second call fails with SEARCH_UNKNOWN.
  rpc CloseSearch(CloseSearchRequest) returns (CloseSearchResponse);
}

message CreateSearchRequest {
  // The match or batch to search in. The call needs the token of its seat or owner.
  oneof of {
    string match_id = 1;
    string batch_id = 2;
  }
  // The environments of a batch, as in ResetBatchRequest. Empty for a match.
  bytes mask = 3;
  // The number of worlds to sample for each environment, or for the seat; 0 for 1. The worlds of one environment are adjacent.
  uint32 worlds = 4;
  // The number of places of the search; 0 for as many as worlds.
  uint32 places = 5;
  // The seed that determines the worlds and the chance events in each. If absent, the server draws one.
  optional fixed64 seed = 6;
  RewardKind reward = 7;
  // Whether the engine plays decisions with a single legal action.
  bool skip_forced = 8;
  // The maximum message size that the client accepts, in bytes; 0 for 4 MiB.
  uint32 max_message_bytes = 9;
  // A new random UUID, or empty. A repeated request with the same id gets the same search with its present rows. With other contents it fails with
  // REQUEST_ID_REUSED.
  string request_id = 10;
}

message CreateSearchResponse {
  Search search = 1;
  // The rows of the sampled worlds, in the order of their places.
  Step step = 2;
}

message AdvanceRequest {
  string search_id = 1;
  // uint32[n]: the places of the worlds, one in each row.
  bytes worlds = 2;
  // uint8[n]: the action for each row.
  bytes actions = 3;
  // uint32[n]: places for the results, all different. A world changes only if its place is among these. If empty, each result replaces its world;
  // then `worlds` must not repeat a place.
  bytes into = 4;
}

message AdvanceResponse {
  // A row for each row of the request.
  Step step = 1;
}

message RedeterminizeRequest {
  string search_id = 1;
  // uint32[n]: the places of the worlds, one in each row.
  bytes worlds = 2;
  // As in AdvanceRequest. With it, `worlds` may repeat a place, and each of its rows is another sample.
  bytes into = 3;
  // The seed that determines the samples, row by row, and the chance events in each. If absent, the server draws one.
  optional fixed64 seed = 4;
}

message RedeterminizeResponse {
  // A row for each row of the request. `ply` counts from this sampling. From now on, each world counts as sampled for the seat of its row.
  Step step = 1;
}

message RolloutRequest {
  string search_id = 1;
  // uint32[n]: the places of the worlds, one in each row.
  bytes worlds = 2;
  // The number of playouts of each world; 0 for 1. At most 65536 for all rows together.
  uint32 playouts = 3;
  // The policy of all seats: `estimate` takes the action with the best one-ply estimate, as in the playouts of `mc`; `random` takes a random legal
  // action; `policy:NAME` and `policy:NAME:argmax` follow a policy that the server was started with. Empty for `estimate`.
  string policy = 4;
  // The seed of chance events. If absent, the server draws one. Playout j has the same chance events in all copies of a world: compare actions in
  // copies of one world, and average over worlds.
  optional fixed64 seed = 5;
  // The maximum number of decisions in a playout, by all seats together; 0 values the worlds as they are. If a playout is not over then, it counts the
  // values of its last position. If absent, playouts run to their end. Allowed only for a policy with values, in a search with REWARD_KIND_MARGIN.
  optional uint32 plies = 6;
}

message RolloutResponse {
  // float32[n, seats]: the mean reward of each seat in seat order. A truncated playout counts 0. A playout that ended by `plies` counts for each seat
  // the margin that the policy expects from the seat's view; for a seat that owes no decision in a game of two, the negative margin of the other.
  bytes reward = 1;
}

message CloseSearchRequest {
  string search_id = 1;
}

message CloseSearchResponse {}

// Worlds of one table, each in a place, numbered from 0.
message Search {
  string id = 1;
  string game = 2;
  map<string, string> options = 3;
  uint32 seats = 4;
  // The number of sampled worlds. They fill the first places.
  uint32 worlds = 5;
  uint32 places = 6;
  // The seed that determines the worlds and the chance events in each.
  fixed64 seed = 7;
  RewardKind reward = 8;
  // Whether the engine plays decisions with a single legal action.
  bool skip_forced = 9;
  uint32 view_bytes = 10;
  uint32 mask_bytes = 11;
  string spec_digest = 12;
}
"#),

("google/rpc/error_details.proto", r#"// Copyright 2026 Google LLC
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

syntax = "proto3";

package google.rpc;

import "google/protobuf/duration.proto";

option go_package = "google.golang.org/genproto/googleapis/rpc/errdetails;errdetails";
option java_multiple_files = true;
option java_outer_classname = "ErrorDetailsProto";
option java_package = "com.google.rpc";
option objc_class_prefix = "RPC";

// Describes the cause of the error with structured details.
//
// Example of an error when contacting the "pubsub.googleapis.com" API when it
// is not enabled:
//
//     { "reason": "API_DISABLED"
//       "domain": "googleapis.com"
//       "metadata": {
//         "resource": "projects/123",
//         "service": "pubsub.googleapis.com"
//       }
//     }
//
// This response indicates that the pubsub.googleapis.com API is not enabled.
//
// Example of an error that is returned when attempting to create a Spanner
// instance in a region that is out of stock:
//
//     { "reason": "STOCKOUT"
//       "domain": "spanner.googleapis.com",
//       "metadata": {
//         "availableRegions": "us-central1,us-east2"
//       }
//     }
message ErrorInfo {
  // The reason of the error. This is a constant value that identifies the
  // proximate cause of the error. Error reasons are unique within a particular
  // domain of errors. This should be at most 63 characters and match a
  // regular expression of `[A-Z][A-Z0-9_]+[A-Z0-9]`, which represents
  // UPPER_SNAKE_CASE.
  string reason = 1;

  // The logical grouping to which the "reason" belongs. The error domain
  // is typically the registered service name of the tool or product that
  // generates the error. Example: "pubsub.googleapis.com". If the error is
  // generated by some common infrastructure, the error domain must be a
  // globally unique value that identifies the infrastructure. For Google API
  // infrastructure, the error domain is "googleapis.com".
  string domain = 2;

  // Additional structured details about this error.
  //
  // Keys must match a regular expression of `[a-z][a-zA-Z0-9-_]+` but should
  // ideally be lowerCamelCase. Also, they must be limited to 64 characters in
  // length. When identifying the current value of an exceeded limit, the units
  // should be contained in the key, not the value.  For example, rather than
  // `{"instanceLimit": "100/request"}`, should be returned as,
  // `{"instanceLimitPerRequest": "100"}`, if the client exceeds the number of
  // instances that can be created in a single (batch) request.
  map<string, string> metadata = 3;
}

// Describes when the clients can retry a failed request. Clients could ignore
// the recommendation here or retry when this information is missing from error
// responses.
//
// It's always recommended that clients should use exponential backoff when
// retrying.
//
// Clients should wait until `retry_delay` amount of time has passed since
// receiving the error response before retrying.  If retrying requests also
// fail, clients should use an exponential backoff scheme to gradually increase
// the delay between retries based on `retry_delay`, until either a maximum
// number of retries have been reached or a maximum retry delay cap has been
// reached.
message RetryInfo {
  // Clients should wait at least this long between retrying the same request.
  google.protobuf.Duration retry_delay = 1;
}

// Describes additional debugging info.
message DebugInfo {
  // The stack trace entries indicating where the error occurred.
  repeated string stack_entries = 1;

  // Additional debugging information provided by the server.
  string detail = 2;
}

// Describes how a quota check failed.
//
// For example if a daily limit was exceeded for the calling project,
// a service could respond with a QuotaFailure detail containing the project
// id and the description of the quota limit that was exceeded.  If the
// calling project hasn't enabled the service in the developer console, then
// a service could respond with the project id and set `service_disabled`
// to true.
//
// Also see RetryInfo and Help types for other details about handling a
// quota failure.
message QuotaFailure {
  // A message type used to describe a single quota violation.  For example, a
  // daily quota or a custom quota that was exceeded.
  message Violation {
    // The subject on which the quota check failed.
    // For example, "clientip:<ip address of client>" or "project:<Google
    // developer project id>".
    string subject = 1;

    // A description of how the quota check failed. Clients can use this
    // description to find more about the quota configuration in the service's
    // public documentation, or find the relevant quota limit to adjust through
    // developer console.
    //
    // For example: "Service disabled" or "Daily Limit for read operations
    // exceeded".
    string description = 2;

    // The API Service from which the `QuotaFailure.Violation` orginates. In
    // some cases, Quota issues originate from an API Service other than the one
    // that was called. In other words, a dependency of the called API Service
    // could be the cause of the `QuotaFailure`, and this field would have the
    // dependency API service name.
    //
    // For example, if the called API is Kubernetes Engine API
    // (container.googleapis.com), and a quota violation occurs in the
    // Kubernetes Engine API itself, this field would be
    // "container.googleapis.com". On the other hand, if the quota violation
    // occurs when the Kubernetes Engine API creates VMs in the Compute Engine
    // API (compute.googleapis.com), this field would be
    // "compute.googleapis.com".
    string api_service = 3;

    // The metric of the violated quota. A quota metric is a named counter to
    // measure usage, such as API requests or CPUs. When an activity occurs in a
    // service, such as Virtual Machine allocation, one or more quota metrics
    // may be affected.
    //
    // For example, "compute.googleapis.com/cpus_per_vm_family",
    // "storage.googleapis.com/internet_egress_bandwidth".
    string quota_metric = 4;

    // The id of the violated quota. Also know as "limit name", this is the
    // unique identifier of a quota in the context of an API service.
    //
    // For example, "CPUS-PER-VM-FAMILY-per-project-region".
    string quota_id = 5;

    // The dimensions of the violated quota. Every non-global quota is enforced
    // on a set of dimensions. While quota metric defines what to count, the
    // dimensions specify for what aspects the counter should be increased.
    //
    // For example, the quota "CPUs per region per VM family" enforces a limit
    // on the metric "compute.googleapis.com/cpus_per_vm_family" on dimensions
    // "region" and "vm_family". And if the violation occurred in region
    // "us-central1" and for VM family "n1", the quota_dimensions would be,
    //
    // {
    //   "region": "us-central1",
    //   "vm_family": "n1",
    // }
    //
    // When a quota is enforced globally, the quota_dimensions would always be
    // empty.
    map<string, string> quota_dimensions = 6;

    // The enforced quota value at the time of the `QuotaFailure`.
    //
    // For example, if the enforced quota value at the time of the
    // `QuotaFailure` on the number of CPUs is "10", then the value of this
    // field would reflect this quantity.
    int64 quota_value = 7;

    // The new quota value being rolled out at the time of the violation. At the
    // completion of the rollout, this value will be enforced in place of
    // quota_value. If no rollout is in progress at the time of the violation,
    // this field is not set.
    //
    // For example, if at the time of the violation a rollout is in progress
    // changing the number of CPUs quota from 10 to 20, 20 would be the value of
    // this field.
    optional int64 future_quota_value = 8;
  }

  // Describes all quota violations.
  repeated Violation violations = 1;
}

// Describes what preconditions have failed.
//
// For example, if an RPC failed because it required the Terms of Service to be
// acknowledged, it could list the terms of service violation in the
// PreconditionFailure message.
message PreconditionFailure {
  // A message type used to describe a single precondition failure.
  message Violation {
    // The type of PreconditionFailure. We recommend using a service-specific
    // enum type to define the supported precondition violation subjects. For
    // example, "TOS" for "Terms of Service violation".
    string type = 1;

    // The subject, relative to the type, that failed.
    // For example, "google.com/cloud" relative to the "TOS" type would indicate
    // which terms of service is being referenced.
    string subject = 2;

    // A description of how the precondition failed. Developers can use this
    // description to understand how to fix the failure.
    //
    // For example: "Terms of service not accepted".
    string description = 3;
  }

  // Describes all precondition violations.
  repeated Violation violations = 1;
}

// Describes violations in a client request. This error type focuses on the
// syntactic aspects of the request.
message BadRequest {
  // A message type used to describe a single bad request field.
  message FieldViolation {
    // A path that leads to a field in the request body. The value will be a
    // sequence of dot-separated identifiers that identify a protocol buffer
    // field.
    //
    // Consider the following:
    //
    //     message CreateContactRequest {
    //       message EmailAddress {
    //         enum Type {
    //           TYPE_UNSPECIFIED = 0;
    //           HOME = 1;
    //           WORK = 2;
    //         }
    //
    //         optional string email = 1;
    //         repeated EmailType type = 2;
    //       }
    //
    //       string full_name = 1;
    //       repeated EmailAddress email_addresses = 2;
    //     }
    //
    // In this example, in proto `field` could take one of the following values:
    //
    // * `full_name` for a violation in the `full_name` value
    // * `email_addresses[0].email` for a violation in the `email` field of the
    //   first `email_addresses` message
    // * `email_addresses[2].type[1]` for a violation in the second `type`
    //   value in the third `email_addresses` message.
    //
    // In JSON, the same values are represented as:
    //
    // * `fullName` for a violation in the `fullName` value
    // * `emailAddresses[0].email` for a violation in the `email` field of the
    //   first `emailAddresses` message
    // * `emailAddresses[2].type[1]` for a violation in the second `type`
    //   value in the third `emailAddresses` message.
    string field = 1;

    // A description of why the request element is bad.
    string description = 2;

    // The reason of the field-level error. This is a constant value that
    // identifies the proximate cause of the field-level error. It should
    // uniquely identify the type of the FieldViolation within the scope of the
    // google.rpc.ErrorInfo.domain. This should be at most 63
    // characters and match a regular expression of `[A-Z][A-Z0-9_]+[A-Z0-9]`,
    // which represents UPPER_SNAKE_CASE.
    string reason = 3;

    // Provides a localized error message for field-level errors that is safe to
    // return to the API consumer.
    LocalizedMessage localized_message = 4;
  }

  // Describes all violations in a client request.
  repeated FieldViolation field_violations = 1;
}

// Contains metadata about the request that clients can attach when filing a bug
// or providing other forms of feedback.
message RequestInfo {
  // An opaque string that should only be interpreted by the service generating
  // it. For example, it can be used to identify requests in the service's logs.
  string request_id = 1;

  // Any data that was used to serve this request. For example, an encrypted
  // stack trace that can be sent back to the service provider for debugging.
  string serving_data = 2;
}

// Describes the resource that is being accessed.
message ResourceInfo {
  // A name for the type of resource being accessed, e.g. "sql table",
  // "cloud storage bucket", "file", "Google calendar"; or the type URL
  // of the resource: e.g. "type.googleapis.com/google.pubsub.v1.Topic".
  string resource_type = 1;

  // The name of the resource being accessed.  For example, a shared calendar
  // name: "example.com_4fghdhgsrgh@group.calendar.google.com", if the current
  // error is
  // [google.rpc.Code.PERMISSION_DENIED][google.rpc.Code.PERMISSION_DENIED].
  string resource_name = 2;

  // The owner of the resource (optional).
  // For example, "user:<owner email>" or "project:<Google developer project
  // id>".
  string owner = 3;

  // Describes what error is encountered when accessing this resource.
  // For example, updating a cloud project may require the `writer` permission
  // on the developer console project.
  string description = 4;
}

// Provides links to documentation or for performing an out of band action.
//
// For example, if a quota check failed with an error indicating the calling
// project hasn't enabled the accessed service, this can contain a URL pointing
// directly to the right place in the developer console to flip the bit.
message Help {
  // Describes a URL link.
  message Link {
    // Describes what the link offers.
    string description = 1;

    // The URL of the link.
    string url = 2;
  }

  // URL(s) pointing to additional information on handling the current error.
  repeated Link links = 1;
}

// Provides a localized error message that is safe to return to the user
// which can be attached to an RPC error.
message LocalizedMessage {
  // The locale used following the specification defined at
  // https://www.rfc-editor.org/rfc/bcp/bcp47.txt.
  // Examples are: "en-US", "fr-CH", "es-MX"
  string locale = 1;

  // The localized error message in the above locale.
  string message = 2;
}
"#),

("google/rpc/status.proto", r#"// Copyright 2026 Google LLC
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

syntax = "proto3";

package google.rpc;

import "google/protobuf/any.proto";

option go_package = "google.golang.org/genproto/googleapis/rpc/status;status";
option java_multiple_files = true;
option java_outer_classname = "StatusProto";
option java_package = "com.google.rpc";
option objc_class_prefix = "RPC";

// The `Status` type defines a logical error model that is suitable for
// different programming environments, including REST APIs and RPC APIs. It is
// used by [gRPC](https://github.com/grpc). Each `Status` message contains
// three pieces of data: error code, error message, and error details.
//
// You can find out more about this error model and how to work with it in the
// [API Design Guide](https://cloud.google.com/apis/design/errors).
message Status {
  // The status code, which should be an enum value of
  // [google.rpc.Code][google.rpc.Code].
  int32 code = 1;

  // A developer-facing error message, which should be in English. Any
  // user-facing error message should be localized and sent in the
  // [google.rpc.Status.details][google.rpc.Status.details] field, or localized
  // by the client.
  string message = 2;

  // A list of messages that carry the error details.  There is a common set of
  // message types for APIs to use.
  repeated google.protobuf.Any details = 3;
}
"#),

];
