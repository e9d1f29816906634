pub(super) const FILES: &[(&str, &str)] = &[
("boardwire/v1/batch.proto", r#"// A batch of environments, and what a step of it gives back.

syntax = "proto3";

package boardwire.v1;

import "boardwire/v1/match.proto";

option csharp_namespace = "Boardwire.V1";
option go_package = "boardwire/v1;boardwirev1";
option java_multiple_files = true;
option java_outer_classname = "BatchProto";
option java_package = "com.boardwire.v1";
option objc_class_prefix = "BWR";
option php_namespace = "Boardwire\\V1";
option ruby_package = "Boardwire::V1";

// How the environments of a batch are played.
message BatchConfig {
  // The game's id.
  string game = 1;
  // Who plays where: environment number i has line-up `i % line_ups`. At most 1,024, all of the same number of seats.
  repeated LineUp line_ups = 2;
  // Options by name; those left out have their defaults. In a batch that exists: every option with its value.
  map<string, string> options = 3;
  // How many environments.
  uint32 environments = 4;
  // The number of the first one. What environment number i plays depends on i and `seed`, not on how many
  // there are: parts of a large batch can be opened on their own.
  uint64 first_environment = 5;
  // The seed from which the seeds of all episodes follow; the server draws one when it is left out.
  optional fixed64 seed = 6;
  // Whether environments are dealt in groups: the line-ups in turn play the same episodes, so that environment number
  // i has the seeds that number `i / line_ups` has otherwise.
  bool duplicate_deals = 7;
  // What seats are rewarded for; ranks when unspecified.
  RewardKind reward = 8;
  // What becomes of an environment whose episode has ended; the next step resets it when unspecified.
  AutoresetMode autoreset = 9;
  // What happens to illegal actions; they are rejected when unspecified.
  IllegalActionPolicy illegal_actions = 10;
  // Whether the engine plays decisions of the agents' seats with a single legal action by itself. The column `ply` then
  // tells each of them how often the others had no choice: the owner holds all of them.
  bool skip_forced = 11;
  // The columns that steps carry on request.
  BatchColumns columns = 12;
}

// Many environments of one table, stepped together for one trusted owner.
message Batch {
  // The batch's id.
  string id = 1;
  // How they are played; with the seed that the server has drawn, if it was to.
  BatchConfig config = 2;
  // Bytes of one environment's row in `view`.
  uint32 view_bytes = 3;
  // Bytes of one environment's row in `mask`.
  uint32 mask_bytes = 4;
  // The most seats of agents that a line-up has: the rows of an episode in `final_view`.
  uint32 agents = 5;
  // The digest of the table's facts, as CatalogService gives it.
  string spec_digest = 6;
}

// Who plays at the seats of an environment.
message LineUp {
  // By seat: at least one is an agent, which the owner of the batch plays.
  repeated Player players = 1;
}

// Columns that are sent on request only.
message BatchColumns {
  // `scores` and `ranks` of the episodes that ended.
  bool scores = 1;
  // `final_view` of the episodes that ended.
  bool final_views = 2;
  // `episode` of every environment.
  bool episodes = 3;
  // `oracle` and `oracle_mask` of every environment: for critics in training, which may see more than the seats that act.
  bool oracle = 4;
  // `advice` of this bot or policy; nobody's when left out.
  Player advice = 5;
  // `advice_shares` of the same.
  bool advice_shares = 6;
}

// The decisions that a run of environments shows: one row an environment, packed column by column, numbers
// low byte first. n is the number of rows, k that of the episodes that ended in this step.
message BatchStep {
  // The environment of the first row.
  uint32 first = 1;
  // The number of this answer: one more than the highest of those that have covered any of its environments, from 1.
  uint64 sequence = 2;
  // uint8[n]: the seat whose decision the row shows, the lowest pending agent's; 255 when the episode is over.
  bytes seat = 3;
  // uint8[n], a sum of: 1 terminated, 2 truncated, 4 another action was played for the illegal one given,
  // 8 forfeited (with 1). With AUTORESET_MODE_SAME_STEP they tell of the episode that ended.
  bytes flags = 4;
  // uint32[n]: how many actions have been applied in the episode shown.
  bytes ply = 5;
  // float32[n, seats]: the reward of every seat, absolute seat order; zero unless an episode ended in this step.
  bytes reward = 6;
  // uint8[n, mask_bytes]: the legal actions, action `i` as bit `i % 8` of byte `i / 8`; all zero when over.
  bytes mask = 7;
  // uint32[n]: the number of the episode shown, from 0; on request.
  bytes episode = 8;
  // uint32[k]: the environments whose episodes ended in this step, ascending.
  bytes ended = 9;
  // int32[k, seats]: their final scores; zero when truncated or forfeited; on request.
  bytes scores = 10;
  // uint8[k, seats]: their places, 1 is first; zero when truncated; on request.
  bytes ranks = 11;
  // uint8[k, agents, view_bytes]: what the agents' seats, ascending, saw at their ends; zero where a line-up has
  // fewer; on request.
  bytes final_view = 12;
  // uint8[n]: the action that the player of `BatchColumns.advice` would choose in the place of the row's seat, from what that
  // seat knows; 255 when over; on request.
  bytes advice = 13;
  // uint8[n, seats, view_bytes]: what every seat may know, from the row's seat on clockwise, each laid out as `view`; all
  // zero when over; on request. Together they tell the position: what is in none of them is in no seat's hands.
  bytes oracle = 14;
  // uint8[n, view_bytes]: what the row's seat may know; when over, what the lowest agent's seat may know.
  bytes view = 15;
  // float32[n, actions]: what speaks for each action, summing to 1: the share of the playouts that `mc` gave it, how likely
  // a policy is to choose it; with other bots 1 for the one in `advice`. All zero when over; on request.
  bytes advice_shares = 16;
  // uint8[n, seats, mask_bytes]: what every seat may choose, from the row's seat on clockwise, each as `mask`; all zero for
  // seats that owe no decision, and when over; on request, with `oracle`.
  bytes oracle_mask = 17;
}

// What becomes of an environment whose episode has ended, as in Gymnasium.
enum AutoresetMode {
  // The default: AUTORESET_MODE_NEXT_STEP.
  AUTORESET_MODE_UNSPECIFIED = 0;
  // The next step ignores its action and begins the next episode: its row shows the first decision, without
  // reward or flags.
  AUTORESET_MODE_NEXT_STEP = 1;
  // The next episode begins within the same step: the row shows its first decision, with the rewards and
  // flags of the episode that ended.
  AUTORESET_MODE_SAME_STEP = 2;
  // It stays as it ended. To step it is refused with ENVIRONMENT_OVER until ResetBatch has begun the next.
  AUTORESET_MODE_DISABLED = 3;
}
"#),

("boardwire/v1/batch_service.proto", r#"// Thousands of environments a call, for training: one trusted owner, every agent's seat in its hands.
//
// The owner proves itself by `authorization: Bearer TOKEN` in the call's metadata. Views are still what the
// deciding seat may know; but the owner knows the seed, snapshots hold everything, and so does `oracle` on request.

syntax = "proto3";

package boardwire.v1;

import "boardwire/v1/batch.proto";
import "google/rpc/status.proto";

option csharp_namespace = "Boardwire.V1";
option go_package = "boardwire/v1;boardwirev1";
option java_multiple_files = true;
option java_outer_classname = "BatchServiceProto";
option java_package = "com.boardwire.v1";
option objc_class_prefix = "BWR";
option php_namespace = "Boardwire\\V1";
option ruby_package = "Boardwire::V1";

// Steps batches of environments. A request that is refused changes nothing. Whoever has lost an answer asks again with the same
// `request_id` or `sequence`; without them nobody knows what was done. Calls for different environments of one batch may be under
// way at once; for the same environments they wait for each other.
//
// What a method does depends on how an environment stands:
//
//   method      its episode goes on        its episode is over
//   StepBatch   makes the decision         with AUTORESET_MODE_NEXT_STEP: begins the next
//                                          with AUTORESET_MODE_DISABLED: ENVIRONMENT_OVER
//   ResetBatch  leaves it for the next     begins the next
//
// With AUTORESET_MODE_SAME_STEP the next episode begins in the step that ends one: none is over.
service BatchService {
  // Opens a batch. Its lease ends with CloseBatch, with the connection it was opened over unless `keep`, and
  // when it has been idle for too long. Safe to retry with the same `request_id`.
  // Fails with BATCHES_FULL or ENVIRONMENTS_FULL when the server holds as much as it may, and with CALLER_FULL when the
  // caller does.
  rpc OpenBatch(OpenBatchRequest) returns (OpenBatchResponse);
  // Begins episodes: in all environments or those of a mask. Safe to retry with `sequence`.
  rpc ResetBatch(ResetBatchRequest) returns (ResetBatchResponse);
  // Makes one decision in every environment of a run of them. Safe to retry with `sequence`.
  // Fails with BATCH_ACTION_ILLEGAL, BATCH_ACTION_OUT_OF_RANGE or ENVIRONMENT_OVER, naming the first
  // environment of which it is true, or with SEQUENCE_STALE; then no environment has been stepped.
  rpc StepBatch(StepBatchRequest) returns (StepBatchResponse);
  // Steps and resets on one stream: a request each, answered in order. Faster than single calls: send the
  // actions of one half of the environments while those of the other half are being decided.
  // A refused request is answered with an error and the stream goes on.
  rpc RunBatch(stream RunBatchRequest) returns (stream RunBatchResponse);
  // Saves all environments, or those of a mask, as opaque bytes that tell everything. Safe to retry.
  rpc SaveBatch(SaveBatchRequest) returns (SaveBatchResponse);
  // Puts saved environments in the place of as many of a batch; they go on exactly as those saved would
  // have. Its answer takes a sequence number like those of steps. Safe to retry. Fails with SNAPSHOT_INVALID for bytes
  // that were altered or are of another table.
  rpc LoadBatch(LoadBatchRequest) returns (LoadBatchResponse);
  // Closes a batch. Not safe to retry: it is unknown then.
  rpc CloseBatch(CloseBatchRequest) returns (CloseBatchResponse);
}

// Asks for a new batch.
message OpenBatchRequest {
  // How it is to be played.
  BatchConfig config = 1;
  // The largest message that the client takes, in bytes; 4 MiB when left out, as most clients do unless they are told
  // otherwise. A batch whose rows would not fit is refused.
  uint32 max_message_bytes = 2;
  // Whether the batch outlives the connection it is opened over.
  bool keep = 3;
  // A fresh random UUID, or empty. A repeated request with the same one, from the same account where that is known, is
  // answered as the first was, and the lease then ends with the connection of the repeated one; with other contents
  // it fails with REQUEST_ID_REUSED.
  string request_id = 4;
}

// A new batch.
message OpenBatchResponse {
  // The batch. Every environment is at the beginning of its episode 0.
  Batch batch = 1;
  // The owner's secret token.
  string token = 2;
}

// Begins episodes. Without seeds: the next one of each environment, or episode 0 if it has been neither
// reset nor stepped yet.
message ResetBatchRequest {
  // The batch's id.
  string batch_id = 1;
  // Which environments: environment `i` is bit `i % 8` of byte `i / 8`. Empty for all.
  bytes mask = 2;
  // A new batch seed for these environments, which begin their episode 0: as if opened with it.
  optional fixed64 seed = 3;
  // The seed of this one episode for each of these environments, in ascending order; or empty. Later ones follow from
  // the batch seed.
  repeated fixed64 seeds = 4;
  // The sequence number that the answer is to have, as in StepBatchRequest, for all environments.
  optional uint64 sequence = 5;
}

// The decisions shown after a reset.
message ResetBatchResponse {
  // The rows of all environments; those not reset are as they were, without rewards.
  BatchStep step = 1;
}

// Makes decisions.
message StepBatchRequest {
  // The batch's id.
  string batch_id = 1;
  // uint8[count]: the index of the action for each environment.
  bytes actions = 2;
  // The first environment to step.
  uint32 first = 3;
  // How many to step; 0 for all from `first`.
  uint32 count = 4;
  // The sequence number that the answer is to have: one more than that of the last answer for these environments. A
  // request that is repeated with the same one is answered as the first was, and nothing is stepped twice; with any
  // other number, or other contents, it fails with SEQUENCE_STALE. When left out, whichever follows.
  optional uint64 sequence = 5;
  // Which of them make a decision: the one `first + i` by bit i % 8 of byte i / 8. The others stay as they are: their
  // actions are ignored, and they show no reward. All when it is empty.
  bytes mask = 6;
}

// The decisions shown after a step.
message StepBatchResponse {
  // The rows of the environments that were stepped.
  BatchStep step = 1;
}

// One request on a stream. All of a stream's requests are for batches of the token that opened it.
message RunBatchRequest {
  // The client's own number for it, which the answer repeats.
  uint32 tag = 1;
  // What to do.
  oneof request {
    // As StepBatch.
    StepBatchRequest step = 2;
    // As ResetBatch.
    ResetBatchRequest reset = 3;
  }
}

// The answer to one request on a stream.
message RunBatchResponse {
  // The number of the request.
  uint32 tag = 1;
  // How it went.
  oneof answer {
    // The rows that were asked for, by a step or a reset.
    BatchStep step = 2;
    // Why the request was refused, with google.rpc.ErrorInfo among its details; nothing has changed.
    google.rpc.Status error = 15;
  }
}

// Asks for a snapshot.
message SaveBatchRequest {
  // The batch's id.
  string batch_id = 1;
  // Which environments, as in ResetBatchRequest. Empty for all.
  bytes mask = 2;
}

// Environments as bytes.
message SaveBatchResponse {
  // The snapshot: for LoadBatch of a server with the same snapshot key.
  bytes snapshot = 1;
}

// Brings saved environments back.
message LoadBatchRequest {
  // The batch's id: of the same table and `skip_forced` as the one saved.
  string batch_id = 1;
  // What SaveBatch gave.
  bytes snapshot = 2;
  // Whose places they take, in ascending order, as in ResetBatchRequest: as many as were saved, each of the same
  // line-up as the one saved. Empty for all.
  bytes mask = 3;
}

// The decisions shown after loading.
message LoadBatchResponse {
  // The rows of all environments, without rewards.
  BatchStep step = 1;
}

// Asks to close a batch.
message CloseBatchRequest {
  // The batch's id.
  string batch_id = 1;
}

// The batch is closed.
message CloseBatchResponse {}
"#),

("boardwire/v1/catalog.proto", r#"// What can be played: games, seats, options, actions, view layouts, tables.

syntax = "proto3";

package boardwire.v1;

import "google/protobuf/duration.proto";

option csharp_namespace = "Boardwire.V1";
option go_package = "boardwire/v1;boardwirev1";
option java_multiple_files = true;
option java_outer_classname = "CatalogProto";
option java_package = "com.boardwire.v1";
option objc_class_prefix = "BWR";
option php_namespace = "Boardwire\\V1";
option ruby_package = "Boardwire::V1";

// Serves the descriptions of the server and its games. They do not change while it runs: fetch them once.
service CatalogService {
  // Gets what the server is, and how much callers may ask of it. Safe to retry.
  rpc GetServer(GetServerRequest) returns (GetServerResponse);
  // Lists the games served, in the order of their ids in the catalogue. Safe to retry.
  rpc ListGames(ListGamesRequest) returns (ListGamesResponse);
  // Gets everything about one table of a game: a seat count with its options. Safe to retry.
  // Fails with GAME_UNKNOWN, SEATS_OUT_OF_RANGE, OPTION_UNKNOWN or OPTION_VALUE_INVALID.
  rpc GetGame(GetGameRequest) returns (GetGameResponse);
}

// Asks what the server is.
message GetServerRequest {}

// What the server is.
message GetServerResponse {
  // The description.
  Server server = 1;
}

// Asks for a page of the games served.
message ListGamesRequest {
  // The most games to answer with; 0 leaves it to the server.
  int32 page_size = 1;
  // The `next_page_token` of the page before; empty for the first.
  string page_token = 2;
}

// A page of the games served.
message ListGamesResponse {
  // The games.
  repeated Game games = 1;
  // The token of the next page; empty when this is the last.
  string next_page_token = 2;
}

// Asks for one table of a game.
message GetGameRequest {
  // The game's id, such as `faraway`.
  string game = 1;
  // How many seats; 0 for the fewest the game is played by.
  uint32 seats = 2;
  // Options by name; those left out have their defaults.
  map<string, string> options = 3;
}

// One table of a game.
message GetGameResponse {
  // The description.
  GameSpec spec = 1;
}

// What a server is.
message Server {
  // The version of its software, such as `0.2.0`.
  string version = 1;
  // The protocols it speaks, such as `boardwire.v1`.
  repeated string protocols = 2;
  // What it can do that not every server of the protocol can, by names that docs/protocol.md lists.
  repeated string features = 3;
  // How much callers may ask for.
  Limits limits = 4;
}

// How much callers may ask of a server.
message Limits {
  // The largest message that it sends, and that LoadBatch takes: bytes.
  uint32 message_bytes = 1;
  // The most matches that may be open at once.
  uint32 matches = 2;
  // The most of them that one caller may have created.
  uint32 matches_per_caller = 3;
  // The most calls that one seat may have waiting.
  uint32 waiting_calls = 4;
  // How long a match stays that nobody uses.
  google.protobuf.Duration match_idle_timeout = 5;
  // The most batches, searches and worlds that may be open at once; one caller may have three quarters of them.
  uint32 batches = 6;
  // The most environments that all of them may have.
  uint32 environments = 7;
  // The most environments that those of one caller may have.
  uint32 environments_per_caller = 8;
  // How long a batch stays that nobody uses.
  google.protobuf.Duration batch_idle_timeout = 9;
}

// What is known of a game before seats and options are chosen.
message Game {
  // The id everywhere, such as `golden_compass`.
  string id = 1;
  // The name on the box.
  string name = 2;
  // Moves when the same actions no longer give the same states.
  uint32 rules_version = 3;
  // The fewest seats it is played by.
  uint32 min_seats = 4;
  // The most seats it is played by.
  uint32 max_seats = 5;
  // The options of a match.
  repeated GameOption options = 6;
  // The BLAKE3 digest of the component catalogue it is played with: 64 hexadecimal digits.
  string catalogue_digest = 7;
}

// An option of a match.
message GameOption {
  // Its name.
  string name = 1;
  // One sentence on what it does.
  string description = 2;
  // The value when none is given.
  string default_value = 3;
  // The values it takes, where they are few words; a flag takes `true` and `false`.
  repeated string choices = 4;
  // The least whole number it takes, where it takes numbers.
  optional sint64 min = 5;
  // The greatest whole number it takes, where it takes numbers.
  optional sint64 max = 6;
}

// One table of a game: seats and options chosen. Steps carry only data laid out as said here.
message GameSpec {
  // The game.
  Game game = 1;
  // How many seats.
  uint32 seats = 2;
  // Every option with its value.
  map<string, string> options = 3;
  // Every action, in index order: action `i` is `actions[i]`.
  repeated Action actions = 4;
  // The fields of a seat's view, in the order of their bytes.
  repeated ViewField fields = 5;
  // Bytes of a seat's view.
  uint32 view_bytes = 6;
  // Bytes of a legal mask: ceil(actions / 8). Action `i` is bit `i % 8` of byte `i / 8`.
  uint32 mask_bytes = 7;
  // The component catalogue as integer matrices.
  repeated ComponentTable tables = 8;
  // No episode has more plies than this; one that would is truncated.
  uint32 max_plies = 9;
  // No final score is below this.
  sint32 min_score = 10;
  // No final score is above this.
  sint32 max_score = 11;
  // The BLAKE3 digest of all facts here: 64 hexadecimal digits. A changed game has a changed digest.
  string spec_digest = 12;
  // The fields of the public's view: what everybody at the table may know.
  repeated ViewField public_fields = 13;
  // Bytes of the public's view.
  uint32 public_view_bytes = 14;
}

// One action: what people read, and what it does to which row of which table.
message Action {
  // The words for it; no other action of the game has the same.
  string label = 1;
  // What it does, such as `draft`.
  string verb = 2;
  // The table of the component that it does it to; empty if it is none.
  string table = 3;
  // The row of that table; without one, the number of the thing.
  uint32 row = 4;
}

// One named field of a view.
message ViewField {
  // The name, such as `lines`.
  string name = 1;
  // The byte at which it begins.
  uint32 offset = 2;
  // Its dimensions, slowest first; none for a single value.
  repeated Axis axes = 3;
  // The largest value. Above 255 a value takes two bytes, low byte first; otherwise one.
  uint32 max = 4;
  // What the values mean.
  ValueKind kind = 5;
  // The table whose rows the values name, for VALUE_KIND_ID.
  string table = 6;
  // The name of each value, for VALUE_KIND_CATEGORY.
  repeated string names = 7;
  // One sentence for people.
  string description = 8;
  // What few values exceed in ordinary play, to scale by: at most `max`, which can be far from it.
  uint32 usual_max = 9;
  // How many values of one seat can be the same row at once, for VALUE_KIND_ID; otherwise 1.
  uint32 copies = 10;
}

// One dimension of a field.
message Axis {
  // What is counted along it: `seat` all seats, the viewer first, `other seat` the others clockwise, and words such as
  // `round`.
  string name = 1;
  // How many there are.
  uint32 size = 2;
  // What its places say.
  AxisOrder order = 3;
  // The table whose rows 1, 2, ... are counted along it; empty if it is none.
  string table = 4;
}

// A part of the catalogue as a matrix: row `i` describes id `i`.
message ComponentTable {
  // The table's name, which fields, actions and columns refer to.
  string name = 1;
  // What each column holds.
  repeated Column columns = 2;
  // The number of rows, row 0 (none: all zero) included.
  uint32 rows = 3;
  // The values row by row, `rows * columns` in all.
  repeated sint32 values = 4;
}

// One column of a table.
message Column {
  // What it holds, such as `duration`.
  string name = 1;
  // What the values mean.
  ValueKind kind = 2;
  // The table whose rows the values name, for VALUE_KIND_ID.
  string table = 3;
  // The name of each value, for VALUE_KIND_CATEGORY.
  repeated string names = 4;
}

// What the places along an axis say.
enum AxisOrder {
  // Never sent.
  AXIS_ORDER_UNSPECIFIED = 0;
  // Nothing: the values are a bag, which no other field refers to by place. They ascend, what is empty (0) comes last.
  AXIS_ORDER_NONE = 1;
  // Sooner and later: rounds, turns.
  AXIS_ORDER_SEQUENCE = 2;
  // Which it is: seats, cells of a board, rows of a table.
  AXIS_ORDER_PLACES = 3;
}

// What the values of a field or column mean.
enum ValueKind {
  // Never sent.
  VALUE_KIND_UNSPECIFIED = 0;
  // The row of a table; 0 is none.
  VALUE_KIND_ID = 1;
  // A number of things, or a place on a track.
  VALUE_KIND_COUNT = 2;
  // 0 or 1.
  VALUE_KIND_FLAG = 3;
  // A seat relative to the viewer: 0 none, 1 the viewer, 2 the next clockwise, and so on; to the public 1 is seat 0.
  VALUE_KIND_SEAT = 4;
  // One of a few named values: value `i` is `names[i]`.
  VALUE_KIND_CATEGORY = 5;
}
"#),

("boardwire/v1/match.proto", r#"// A match as everybody may know it, and what it was created with.

syntax = "proto3";

package boardwire.v1;

import "google/protobuf/duration.proto";
import "google/protobuf/timestamp.proto";

option csharp_namespace = "Boardwire.V1";
option go_package = "boardwire/v1;boardwirev1";
option java_multiple_files = true;
option java_outer_classname = "MatchProto";
option java_package = "com.boardwire.v1";
option objc_class_prefix = "BWR";
option php_namespace = "Boardwire\\V1";
option ruby_package = "Boardwire::V1";

// What a match is created with.
message MatchConfig {
  // The game's id.
  string game = 1;
  // Who plays at each seat, in seat order.
  repeated Player players = 2;
  // Options by name; those left out have their defaults. In a match that exists: every option with its value.
  map<string, string> options = 3;
  // What a seat is rewarded for; ranks when unspecified.
  RewardKind reward = 4;
  // Whether the engine plays decisions of the agent with a single legal action by itself. Only where one seat is an
  // agent's: to others, a ply that nobody chose would tell that a hidden hand left one choice.
  bool skip_forced = 5;
  // What happens to illegal actions; they are rejected when unspecified.
  IllegalActionPolicy illegal_actions = 6;
  // Whether the only agent may give the seed of an episode that it asks for: for training, never for evaluation, since
  // whoever gives a seed can compute every hidden card.
  bool seat_may_seed = 7;
  // Whether the match is listed for nobody, and shown to those alone who hold a token of it: host, seats, spectators.
  bool private = 8;
  // Labels of the host's own, for everybody to see and ListMatches to filter by: at most 16, names of 1 to 63 bytes
  // of `a-z`, `0-9`, `_`, `-` and `.`, values of at most 128 bytes.
  map<string, string> labels = 9;
  // How much later positions are shown, at most a day: by Watch to every caller; by GetReplay, GetMatch and ListMatches to
  // callers that are neither the host nor a seat.
  google.protobuf.Duration watch_delay = 10;
  // How long agents may think: nothing for as long as they like; one clock for all of them; or one for each seat in seat
  // order, an empty one for as long as that seat likes, those of bots ignored. In a match that exists: one for each seat.
  repeated Clock clocks = 11;
  // Whether every agent has a hand in the deals, so that nobody can choose what is dealt: not with a seed.
  bool fair_deals = 12;
  // After how many episodes the match closes itself; 0 for no end. The present episode and the four before it are kept: a
  // host that wants the replays of more fetches each when it is over.
  uint32 episodes = 13;
  // Whether only the host begins episodes, so that it can choose each deal and take note of each result: not with
  // `seat_may_seed`.
  bool host_begins = 14;
}

// Who plays at a seat.
message Player {
  // A client that plays: in a match, whoever joins by invitation; in a batch, its owner.
  message Agent {}

  // A bot of the server.
  message Bot {
    // Its name: `random`, `greedy` or `mc`.
    string name = 1;
    // Its parameters by name; those left out have their defaults. `greedy` has `worlds`, how many positions it averages
    // over: 1 to 1024. `mc` has `playouts`: 1 to 10000.
    map<string, uint32> parameters = 2;
  }

  // A policy that the server was started with.
  message Policy {
    // Its name.
    string name = 1;
    // Whether it chooses the action it likes best, instead of each as often as it likes it.
    bool argmax = 2;
  }

  // The kind of player.
  oneof kind {
    // A client.
    Agent agent = 1;
    // A bot.
    Bot bot = 2;
    // A policy.
    Policy policy = 3;
  }
}

// What everybody may know of a match.
message Match {
  // The match's id.
  string id = 1;
  // What it was created with.
  MatchConfig config = 2;
  // The digest of the table's facts, as CatalogService gives it.
  string spec_digest = 3;
  // How the match stands.
  MatchState state = 4;
  // Why it has been closed; unspecified as long as it is open.
  CloseReason close_reason = 5;
  // The seats that are bots or have been joined, ascending.
  repeated uint32 joined = 6;
  // The seats that the match waits for, ascending: those that have yet to join, or to open what they contribute, while it gathers;
  // those that owe a decision while it is played; the agents' that have not asked for the next episode once one is over.
  repeated uint32 waiting_for = 7;
  // The present episode, counted from 0.
  uint32 episode = 8;
  // How many actions have been applied in it.
  uint32 ply = 9;
  // When the match was created, to the second.
  google.protobuf.Timestamp create_time = 10;
  // When the last action was applied, or the present episode dealt if none has been, to the second.
  google.protobuf.Timestamp last_action_time = 11;
  // The commitment to the present episode's key, 32 bytes, none as long as nothing has been dealt: BLAKE3 of the match's id (32 ASCII characters), the episode
  // (4 bytes, low first), the spec digest (32 bytes), the key (32 bytes) and a secret salt (16 bytes).
  bytes seed_commitment = 12;
  // Where the present episode's seed comes from.
  SeedSource seed_source = 13;
  // What the commitment hides, once it may be known. Once the episode is over: a drawn seed to the host and the seats, a given
  // one to the host alone, since later seeds follow from it. Once the match is closed: to everybody.
  optional SeedOpening seed_opening = 14;
  // How its deals come about, if they are fair.
  FairDeal fair = 15;
}

// How deals come about in which everybody has a hand. All hashes are SHA-256.
message FairDeal {
  // What binds the server to all that it contributes, 32 bytes: hashed `e + 1` times, what it contributes to episode `e`.
  bytes server_commitment = 1;
  // What binds each seat, in seat order, 32 bytes: the hash of what it contributes; empty of bots, and of agents that
  // have not joined.
  repeated bytes seat_commitments = 2;
  // What each seat contributes to every episode, in seat order, 32 bytes; empty of bots, and until all have opened that.
  repeated bytes seat_secrets = 3;
}

// How long a seat may think. It thinks from when it could be shown that it owes a decision, and no bot is thinking, until
// its Act comes. Clocks begin when all agents have joined, at the latest a minute after the match was created; no connection,
// nor its loss, starts or stops them. Time in which the server is down or held up is not counted.
message Clock {
  // For every decision, before the bank is drawn on. Like the two below it is at most a day.
  google.protobuf.Duration limit = 1;
  // For the whole episode: what decisions take beyond the limit.
  google.protobuf.Duration bank = 2;
  // What is put into the bank after every decision that was made in time.
  google.protobuf.Duration increment = 3;
  // How often in an episode it is forgiven that time has run out, at most 100: the decision then begins anew.
  uint32 strikes = 4;
  // What happens when it is not forgiven.
  TimeoutPolicy on_timeout = 5;
  // Who chooses, with TIMEOUT_POLICY_BOT: a bot or a policy.
  Player bot = 6;
}

// What happens when a seat's time has run out.
enum TimeoutPolicy {
  // The default: TIMEOUT_POLICY_FORFEIT.
  TIMEOUT_POLICY_UNSPECIFIED = 0;
  // The episode ends: the seat is last, the others share the first place.
  TIMEOUT_POLICY_FORFEIT = 1;
  // The legal action with the lowest index is played for it.
  TIMEOUT_POLICY_FIRST_LEGAL = 2;
  // A legal action drawn from the episode's seed is played for it.
  TIMEOUT_POLICY_SEEDED_LEGAL = 3;
  // A bot makes the decision, from what the seat knows.
  TIMEOUT_POLICY_BOT = 4;
}

// What opens the commitment to an episode's key.
message SeedOpening {
  // The seed, if it was given or follows from one that was.
  optional fixed64 seed = 1;
  // The 16 bytes of salt.
  bytes salt = 2;
  // The 32 bytes of the episode's key: of a given seed its 8 bytes, low first, then 24 zero bytes.
  bytes key = 3;
  // Where deals are fair, the 32 bytes that the server has contributed to this one. The key is then the hash of `boardwire fair
  // deal` (19 ASCII characters), the match's id (32), the episode (4 bytes, low first), these 32 bytes, and for each seat of an
  // agent, ascending, its number (1 byte) and what it contributes (32 bytes).
  bytes server_secret = 4;
}

// What lets an agent in.
message Invitation {
  // The seat, counted from 0.
  uint32 seat = 1;
  // The secret that JoinMatch takes.
  string code = 2;
}

// Where a seed comes from.
enum SeedSource {
  // Never sent.
  SEED_SOURCE_UNSPECIFIED = 0;
  // The server drew it: nobody can know it before it is shown.
  SEED_SOURCE_DRAWN = 1;
  // Somebody gave it, or one that it follows from, and can compute every hidden card.
  SEED_SOURCE_GIVEN = 2;
}

// What a seat is rewarded for at the end of an episode. Rewards are not rules.
enum RewardKind {
  // The default: REWARD_KIND_RANK.
  REWARD_KIND_UNSPECIFIED = 0;
  // From +1 for the first place to -1 for the last, in equal steps; ties share the mean. Sums to zero.
  REWARD_KIND_RANK = 1;
  // +1 shared between the winners as 1 / winners, 0 for the others.
  REWARD_KIND_WIN = 2;
  // The own score minus the best score of another seat.
  REWARD_KIND_MARGIN = 3;
  // The own score.
  REWARD_KIND_SCORE = 4;
}

// What happens to an action that exists but is illegal now. An index beyond the action space is an error
// under every policy.
enum IllegalActionPolicy {
  // The default: ILLEGAL_ACTION_POLICY_REJECT.
  ILLEGAL_ACTION_POLICY_UNSPECIFIED = 0;
  // It is refused with ACTION_ILLEGAL.
  ILLEGAL_ACTION_POLICY_REJECT = 1;
  // The legal action with the lowest index is played for it.
  ILLEGAL_ACTION_POLICY_FIRST_LEGAL = 2;
  // A legal action drawn from the episode's seed is played for it.
  ILLEGAL_ACTION_POLICY_SEEDED_LEGAL = 3;
  // The episode ends: the seat is last, the others share the first place.
  ILLEGAL_ACTION_POLICY_FORFEIT = 4;
}

// Why a match has been closed.
enum CloseReason {
  // It has not.
  CLOSE_REASON_UNSPECIFIED = 0;
  // Its host closed it.
  CLOSE_REASON_HOST = 1;
  // Nobody used it for too long.
  CLOSE_REASON_IDLE = 2;
  // A bot of it failed.
  CLOSE_REASON_BOT_FAILED = 3;
  // The server is shutting down.
  CLOSE_REASON_SHUTTING_DOWN = 4;
  // Agents did not open what they had contributed to the deal: they have forfeited the match.
  CLOSE_REASON_WITHHELD = 5;
  // All its episodes have been played. Observe still shows how the last one ended.
  CLOSE_REASON_FINISHED = 6;
}

// How a match stands.
enum MatchState {
  // Never sent.
  MATCH_STATE_UNSPECIFIED = 0;
  // Some seat owes a decision.
  MATCH_STATE_PLAYING = 1;
  // The present episode has ended; a reset begins the next.
  MATCH_STATE_OVER = 2;
  // The match has been closed.
  MATCH_STATE_CLOSED = 3;
  // Where deals are fair: agents have yet to join, or to open what they contribute; nothing has been dealt.
  MATCH_STATE_GATHERING = 4;
}
"#),

("boardwire/v1/match_service.proto", r#"// One match between mutually distrusting seats, any mix of agents and server bots.
//
// A seat proves itself by `authorization: Bearer TOKEN` in the call's metadata; so does the host, who
// created the match. Everything a seat is answered derives from what that seat may know.

syntax = "proto3";

package boardwire.v1;

import "boardwire/v1/match.proto";
import "boardwire/v1/observation.proto";
import "boardwire/v1/replay.proto";
import "google/protobuf/duration.proto";
import "google/rpc/status.proto";

option csharp_namespace = "Boardwire.V1";
option go_package = "boardwire/v1;boardwirev1";
option java_multiple_files = true;
option java_outer_classname = "MatchServiceProto";
option java_package = "com.boardwire.v1";
option objc_class_prefix = "BWR";
option php_namespace = "Boardwire\\V1";
option ruby_package = "Boardwire::V1";

// Plays matches. Every status carries google.rpc.ErrorInfo with a reason and, as metadata, each value its message mentions.
//
// A request that is refused changes nothing. Of two failures the caller cannot know: a lost answer, and JOURNAL_FAILED, where what
// was done may not be written. Repeat the request then: the same one is answered again and done once, where it is safe to retry.
//
// What a method does depends on how the match stands:
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
// (1) NOT_DEALT once all have joined: they are opening what they contribute. (2) Unless the match has played all its `episodes`:
// then Observe shows how the last one ended, Act and Resign fail with EPISODE_OVER, and OpenDeal changes nothing. (3) A repetition
// of what ended it is answered. (4) An agent that plays against bots alone leaves the episode and begins the next; what forbids
// that stands at Reset. (5) EPISODE_NOT_OVER where deals are fair. (6) With `host_begins` it waits until every agent has called Reset.
// A match that ended without its host says why: MATCH_EXPIRED, BOT_FAILED, DEAL_WITHHELD, SHUTTING_DOWN.
service MatchService {
  // Creates a match and deals its first episode. Safe to retry with the same `request_id`.
  rpc CreateMatch(CreateMatchRequest) returns (CreateMatchResponse);
  // Gets what everybody may know of a match. A private match is shown to those alone who send a token of it: host, seats,
  // spectators; the seed of an episode that has ended in an open match to its host and its seats. Safe to retry.
  rpc GetMatch(GetMatchRequest) returns (GetMatchResponse);
  // Lists the matches that were not created to be private, closed ones included while they are remembered. Shows
  // no seed of an open one. Safe to retry.
  rpc ListMatches(ListMatchesRequest) returns (ListMatchesResponse);
  // Turns an invitation into a seat's token. Safe to retry with the same `request_id`.
  rpc JoinMatch(JoinMatchRequest) returns (JoinMatchResponse);
  // Gives an agent's seat away anew, to an agent that has lost its token or to another one; only the host may. The former
  // invitation and token are worth nothing any more.
  rpc Invite(InviteRequest) returns (InviteResponse);
  // Where deals are fair, opens what the seat contributes to them; answers when all seats have joined. An agent calls it only
  // once `Match.fair.seat_commitments` has one for every agent: the server learns the secret with the call. When all have
  // opened, the first episode is dealt. A seat that has not after 30 seconds forfeits the match. Safe to retry.
  rpc OpenDeal(OpenDealRequest) returns (OpenDealResponse);
  // Shows the seat its observation, at once or when the seat has something to decide. Safe to retry.
  rpc Observe(ObserveRequest) returns (ObserveResponse);
  // Makes the seat's decision. Safe to retry: the same decision with the same action changes nothing.
  rpc Act(ActRequest) returns (ActResponse);
  // A seat asks for the next episode, once the present one is over. It begins when every agent has asked for it, with
  // `host_begins` when the host has called ResetMatch as well; Reset waits for that. An agent that plays against bots alone may leave an
  // episode before its end, unless the match has `episodes`, `host_begins` or fair deals. Safe to retry with `episode`.
  rpc Reset(ResetRequest) returns (ResetResponse);
  // The host begins the next episode: at any time, or once the present one is over where deals are fair. With `host_begins` it
  // waits until every agent has asked for it, and so has seen how the present one ended. Safe to retry with `episode`.
  rpc ResetMatch(ResetMatchRequest) returns (ResetMatchResponse);
  // Gives up the present episode for a seat: it is last, the others share the first place. The host may name the
  // seat. Safe to retry with `episode`: one that the seat has given up already stays as it is.
  rpc Resign(ResignRequest) returns (ResignResponse);
  // Observes, acts, resets and resigns on one stream: a request each, answered in order. Faster than single calls.
  // The token is checked when the stream opens. A refused request is answered with an error and the stream goes on.
  // What waits holds up what follows: to resign while waiting for others takes a single call.
  rpc Play(stream PlayRequest) returns (stream PlayResponse);
  // Shows an episode from its deal on, position by position: as a seat saw it to that seat, as the public may to the host,
  // to spectators with their token and, unless the match is private, to anybody without one. Of decisions it shows the
  // viewer's own while the episode is played, and all afterwards, with the key, so that everything can be checked. Safe to
  // retry.
  rpc GetReplay(GetReplayRequest) returns (GetReplayResponse);
  // Shows every position as the public may see it, one after another, as the match goes on: to anybody, of a private match
  // to whoever sends a token of it. Ends when the host closes the match, or all its episodes have been played. Frames are numbered: whoever loses the stream goes on
  // after the last one that has come. Who takes them slower than they come falls behind and holds nobody up.
  rpc Watch(WatchRequest) returns (stream WatchResponse);
  // Ends the match for good; only the host may. Waiting calls are answered with MATCH_CLOSED. Safe to retry.
  rpc CloseMatch(CloseMatchRequest) returns (CloseMatchResponse);
}

// Asks for a new match.
message CreateMatchRequest {
  // How it is to be played.
  MatchConfig config = 1;
  // The seed of the first episode; the server draws a secret one when it is left out. Whoever gives a seed
  // can compute every hidden card: leave it out when seats distrust the host.
  optional fixed64 seed = 2;
  // A fresh random UUID, or empty. A repeated request with the same one, from the same account where that is known, is
  // answered as the first was; with other contents it fails with REQUEST_ID_REUSED.
  string request_id = 3;
}

// A new match, with what lets its seats in.
message CreateMatchResponse {
  // The match.
  Match match = 1;
  // An invitation for each agent's seat, in seat order. Each lets one agent in, once.
  repeated Invitation invitations = 2;
  // The host's token: closes and resets the match. It shows nobody's cards.
  string host_token = 3;
  // The spectators' token: lets whoever holds it look at a private match as the public may.
  string spectator_token = 4;
}

// Asks for a match.
message GetMatchRequest {
  // The match's id.
  string match_id = 1;
}

// A match.
message GetMatchResponse {
  // The match.
  Match match = 1;
}

// Asks for a page of the matches.
message ListMatchesRequest {
  // The most matches to answer with, at most 1000; 0 leaves it to the server.
  int32 page_size = 1;
  // The `next_page_token` of the page before, of a request with the same filters; empty for the first.
  string page_token = 2;
  // Only matches of this game; of all when empty.
  string game = 3;
  // Only matches that stand so; all when empty.
  repeated MatchState states = 4;
  // Only matches with all of these labels.
  map<string, string> labels = 5;
}

// A page of the matches, in the order of their ids.
message ListMatchesResponse {
  // The matches.
  repeated Match matches = 1;
  // The token of the next page; empty when this is the last.
  string next_page_token = 2;
}

// Asks to be let in.
message JoinMatchRequest {
  // The code of the invitation.
  string code = 1;
  // A fresh random UUID, or empty; a repeated request with the same one is answered as the first was.
  string request_id = 2;
  // Where deals are fair, the SHA-256 of the 32 secret random bytes that the agent contributes to them; elsewhere empty, or 32
  // bytes that nobody looks at.
  bytes commitment = 3;
}

// The way to act for a seat.
message JoinMatchResponse {
  // The match.
  Match match = 1;
  // The seat, counted from 0.
  uint32 seat = 2;
  // The seat's secret token, valid until the match is closed, over any connection.
  string token = 3;
}

// Gives a seat away anew.
message InviteRequest {
  // The match's id.
  string match_id = 1;
  // The seat, counted from 0.
  uint32 seat = 2;
}

// The new way in.
message InviteResponse {
  // The invitation.
  Invitation invitation = 1;
}

// Opens what a seat contributes to deals.
message OpenDealRequest {
  // The match's id.
  string match_id = 1;
  // The 32 bytes whose SHA-256 the seat has joined with.
  bytes secret = 2;
}

// What the seat contributes is known.
message OpenDealResponse {}

// Asks for the seat's observation.
message ObserveRequest {
  // The match's id.
  string match_id = 1;
  // Whether to answer only when the seat is pending or the episode over.
  bool wait = 2;
  // What to add.
  Extras extras = 3;
}

// What the seat sees.
message ObserveResponse {
  // The observation.
  Observation observation = 1;
}

// Makes a decision.
message ActRequest {
  // The match's id.
  string match_id = 1;
  // The episode of the observation that is answered.
  uint32 episode = 2;
  // The decision of the observation that is answered.
  uint32 decision = 3;
  // The index of the action.
  uint32 action = 4;
  // Whether to answer only when the seat is pending again or the episode over.
  bool wait = 5;
  // What to add.
  Extras extras = 6;
  // How long the agent has thought, from receiving the observation to sending this: what else the decision took was on the
  // wire, and is not charged to the seat's clock as far as its quota goes.
  google.protobuf.Duration thought = 7;
}

// What the seat sees after its decision.
message ActResponse {
  // The observation.
  Observation observation = 1;
}

// Begins the next episode of a match.
message ResetMatchRequest {
  // The match's id.
  string match_id = 1;
  // The seed of the next episode; when left out, the next one derived from the seed given before, or a
  // secret one when none was.
  optional fixed64 seed = 2;
  // The episode that is to be left. One that has been left already is no error. When left out, whichever is present.
  optional uint32 episode = 3;
}

// The match, in its next episode.
message ResetMatchResponse {
  // The match.
  Match match = 1;
}

// Asks for the next episode.
message ResetRequest {
  // The match's id.
  string match_id = 1;
  // The seed of the next episode, as in ResetMatchRequest, from the only agent of a match created with `seat_may_seed`.
  optional fixed64 seed = 2;
  // The episode that is to be left. One that has been left already is no error: the answer then shows the
  // present one. When left out, whichever is present.
  optional uint32 episode = 3;
  // Whether to answer only when the seat is pending or the episode over.
  bool wait = 4;
  // What to add.
  Extras extras = 5;
}

// The beginning of an episode.
message ResetResponse {
  // What the seat sees.
  Observation observation = 1;
}

// Gives up an episode.
message ResignRequest {
  // The match's id.
  string match_id = 1;
  // The episode that is given up; when left out, whichever is present, which is then not safe to retry. One that
  // has been left, or is over without a forfeit of the seat, is refused.
  optional uint32 episode = 2;
  // The agent's seat that loses the episode, where the host says so; left out by a seat.
  optional uint32 seat = 3;
  // What to add.
  Extras extras = 4;
}

// The end of the episode.
message ResignResponse {
  // What the seat sees; absent for the host.
  Observation observation = 1;
}

// Asks for an episode as it was played.
message GetReplayRequest {
  // The match's id.
  string match_id = 1;
  // The episode; when left out, the present one. The present one and the four before it are kept.
  optional uint32 episode = 2;
}

// An episode as it was played.
message GetReplayResponse {
  // The episode.
  Replay replay = 1;
}

// Asks to watch a match.
message WatchRequest {
  // The match's id.
  string match_id = 1;
  // The number of the last frame known: those after it follow, as long as they are kept, which the frames of the present
  // episode and the four before it are. When left out, begins with the present position.
  optional uint64 after = 2;
  // Whether to add what people look at.
  bool depict = 3;
}

// The next position.
message WatchResponse {
  // The position.
  Frame frame = 1;
  // The same for people, on request.
  Depiction depiction = 2;
}

// One request on a stream.
message PlayRequest {
  // The client's own number for it, which the answer repeats.
  uint32 tag = 1;
  // What to do, as whoever's token opened the stream.
  oneof request {
    // As Observe.
    ObserveRequest observe = 2;
    // As Act.
    ActRequest act = 3;
    // As Reset.
    ResetRequest reset = 4;
    // As Resign.
    ResignRequest resign = 5;
  }
}

// The answer to one request on a stream.
message PlayResponse {
  // The number of the request.
  uint32 tag = 1;
  // How it went: as the single call would have been answered.
  oneof answer {
    // The answer to `observe`.
    ObserveResponse observe = 2;
    // The answer to `act`.
    ActResponse act = 3;
    // The answer to `reset`.
    ResetResponse reset = 4;
    // The answer to `resign`.
    ResignResponse resign = 5;
    // Why the request was refused, with google.rpc.ErrorInfo among its details; nothing has changed.
    google.rpc.Status error = 15;
  }
}

// Asks to end a match.
message CloseMatchRequest {
  // The match's id.
  string match_id = 1;
}

// The match that has ended.
message CloseMatchResponse {
  // The match.
  Match match = 1;
}
"#),

("boardwire/v1/observation.proto", r#"// What one seat sees of an episode, and how an episode ends.

syntax = "proto3";

package boardwire.v1;

import "google/protobuf/duration.proto";

option csharp_namespace = "Boardwire.V1";
option go_package = "boardwire/v1;boardwirev1";
option java_multiple_files = true;
option java_outer_classname = "ObservationProto";
option java_package = "com.boardwire.v1";
option objc_class_prefix = "BWR";
option php_namespace = "Boardwire\\V1";
option ruby_package = "Boardwire::V1";

// Parts of an observation that are made on request only.
message Extras {
  // The position as text.
  bool text = 1;
  // Where the points of every seat came from, once the episode is over.
  bool explanation = 2;
  // The legal actions with their labels.
  bool actions = 3;
  // What all decisions of the episode so far chain up to, as Frame says: whoever writes it down can compare later.
  bool head = 4;
}

// What one seat sees. The same in every answer.
message Observation {
  // The episode, counted from 0.
  uint32 episode = 1;
  // How many actions have been applied in it, by all seats. Simultaneous choices come in any order: never let
  // anything depend on it that is to repeat.
  uint32 ply = 2;
  // How many decisions this seat has made in it; an Act answers with this number.
  uint32 decision = 3;
  // What the seat may know, laid out as GameSpec.fields says.
  bytes view = 4;
  // The legal actions, a bit each; all zero when the seat owes no decision.
  bytes mask = 5;
  // The seats that owe a decision, ascending.
  repeated uint32 pending = 6;
  // The reward since this seat's last decision. Not part of the rules, and made from whole scores at the
  // end of an episode alone.
  float reward = 7;
  // Whether the episode has ended by the rules, or by a forfeit.
  bool terminated = 8;
  // Whether the episode was cut at its greatest length.
  bool truncated = 9;
  // Whether this seat's last decision was illegal and another action was played for it.
  bool substituted = 10;
  // How it ended, once it has.
  Outcome outcome = 11;
  // The position as text, on request.
  string text = 12;
  // The legal actions in the order of their indices, on request.
  repeated LegalAction actions = 13;
  // What all decisions of the episode so far chain up to, 32 bytes, on request.
  bytes head = 14;
  // What the clock of each seat shows, in seat order, those of bots empty; none where nobody has one.
  repeated ClockReading clocks = 15;
  // Whether this seat's last decision was made for it, since its time had run out.
  bool timed_out = 16;
}

// What a seat's clock shows.
message ClockReading {
  // How long the seat may still think about the present decision, or the next.
  google.protobuf.Duration left = 1;
  // How much of that is in the bank.
  google.protobuf.Duration bank = 2;
  // Whether time passes.
  bool running = 3;
  // How often it is still forgiven that time runs out.
  uint32 strikes = 4;
}

// An action that the seat may choose now.
message LegalAction {
  // Its index, for Act.
  uint32 index = 1;
  // What it does, in words; the same as in GameSpec.actions.
  string label = 2;
}

// How an episode ended.
message Outcome {
  // The final score of each seat; empty when the episode was truncated or forfeited.
  repeated sint32 scores = 1;
  // The place of each seat: 1 is first, and seats that share a place have the same number; empty when the
  // episode was truncated.
  repeated uint32 ranks = 2;
  // For each seat whether it forfeited the episode, and why; empty when none did.
  repeated Forfeit forfeits = 3;
  // Where the points of each seat came from, on request.
  repeated Explanation explanations = 4;
}

// Where the points of one seat came from.
message Explanation {
  // The sources, in the order of the rulebook's scoring.
  repeated ScoreLine lines = 1;
}

// One source of points.
message ScoreLine {
  // What gave them, such as `region 27`.
  string source = 1;
  // The points.
  sint32 points = 2;
}

// Why a seat forfeited an episode.
enum Forfeit {
  // It did not.
  FORFEIT_UNSPECIFIED = 0;
  // It chose an illegal action, where that forfeits.
  FORFEIT_ILLEGAL_ACTION = 1;
  // It did not choose in the time it had.
  FORFEIT_TIME = 2;
  // It resigned.
  FORFEIT_RESIGNED = 3;
  // The host ended the episode against it.
  FORFEIT_HOST = 4;
}
"#),

("boardwire/v1/replay.proto", r#"// An episode as it was played, to be looked at and to be checked.

syntax = "proto3";

package boardwire.v1;

import "boardwire/v1/match.proto";
import "boardwire/v1/observation.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/timestamp.proto";

option csharp_namespace = "Boardwire.V1";
option go_package = "boardwire/v1;boardwirev1";
option java_multiple_files = true;
option java_outer_classname = "ReplayProto";
option java_package = "com.boardwire.v1";
option objc_class_prefix = "BWR";
option php_namespace = "Boardwire\\V1";
option ruby_package = "Boardwire::V1";

// An episode as somebody may see it. Its canonical JSON is what `boardwire verify` reads.
message Replay {
  // The match's id.
  string match_id = 1;
  // What the match was created with.
  MatchConfig config = 2;
  // The digest of the table's facts, as CatalogService gives it.
  string spec_digest = 3;
  // The episode, counted from 0.
  uint32 episode = 4;
  // The commitment to its key, as Match says.
  bytes seed_commitment = 5;
  // Where its seed comes from.
  SeedSource seed_source = 6;
  // What the commitment hides, once it may be known.
  optional SeedOpening seed_opening = 7;
  // The seat whose views these are; absent for the public's.
  optional uint32 viewer = 8;
  // Whether the episode is over, so that every decision is shown.
  bool over = 9;
  // Every position, from the deal on: one after each decision, and one more for a forfeit.
  repeated Frame frames = 10;
  // How its deal came about, if that was fair.
  FairDeal fair = 11;
  // The release series that wrote it and alone verifies it: "0.2".
  string release = 12;
}

// A position as somebody saw it, and what led to it.
message Frame {
  // Its number among the frames of the match, from 1.
  uint64 sequence = 1;
  // The episode, counted from 0.
  uint32 episode = 2;
  // How many actions have been applied in it.
  uint32 ply = 3;
  // Since when it has stood so, to the second.
  google.protobuf.Timestamp time = 4;
  // What the viewer may know of it, laid out as GameSpec.fields says.
  bytes view = 5;
  // The seats that owe a decision, ascending.
  repeated uint32 pending = 6;
  // Whose decision led to it; absent where it was dealt or forfeited.
  optional uint32 seat = 7;
  // That decision; absent where the viewer may not know it, or not yet.
  optional PlayedAction played = 8;
  // What all that has happened chains up to, 32 bytes: of the deal the seed commitment; after a decision BLAKE3, keyed
  // with the episode's key, of what it was before (32 bytes), the seat, the action and the number of its ActionCause (1 byte
  // each); after a forfeit the same of what it was before, the seat and the number of its Forfeit. Without the key it tells
  // nothing of a hidden choice.
  bytes head = 9;
  // How the episode ended; absent unless it ends here.
  Outcome outcome = 10;
  // How long the seat took for the decision, if it has a clock, as that was charged.
  google.protobuf.Duration took = 11;
}

// A position as people look at it: made from what the viewer may know of it, like the view.
message Depiction {
  // The position drawn, as a document of SVG without script, style or link.
  string picture = 1;
  // The position as text.
  string text = 2;
}

// An action as it was played.
message PlayedAction {
  // Its index.
  uint32 action = 1;
  // How it came about.
  ActionCause cause = 2;
  // The illegal action that the seat chose, where another was played for it.
  optional uint32 given = 3;
}

// How an action came to be played.
enum ActionCause {
  // Never sent.
  ACTION_CAUSE_UNSPECIFIED = 0;
  // The seat's agent chose it.
  ACTION_CAUSE_AGENT = 1;
  // It was played for an illegal action of the seat's agent.
  ACTION_CAUSE_SUBSTITUTED = 2;
  // The seat's bot chose it.
  ACTION_CAUSE_BOT = 3;
  // There was no other choice, and the match skips such decisions.
  ACTION_CAUSE_FORCED = 4;
  // It was played for the seat, since its time had run out.
  ACTION_CAUSE_TIMED_OUT = 5;
}
"#),

("boardwire/v1/search.proto", r#"// Worlds to search in, and what is shown of them.

syntax = "proto3";

package boardwire.v1;

import "boardwire/v1/match.proto";

option csharp_namespace = "Boardwire.V1";
option go_package = "boardwire/v1;boardwirev1";
option java_multiple_files = true;
option java_outer_classname = "SearchProto";
option java_package = "com.boardwire.v1";
option objc_class_prefix = "BWR";
option php_namespace = "Boardwire\\V1";
option ruby_package = "Boardwire::V1";

// Worlds of one table, each in a place of its own, numbered from 0.
message Search {
  // The search's id.
  string id = 1;
  // The game's id.
  string game = 2;
  // Every option with its value.
  map<string, string> options = 3;
  // How many seats a world has.
  uint32 seats = 4;
  // How many worlds have been drawn: they fill the first places.
  uint32 worlds = 5;
  // How many places there are.
  uint32 places = 6;
  // The seed from which the worlds follow, and the luck to come in each.
  fixed64 seed = 7;
  // What seats are rewarded for.
  RewardKind reward = 8;
  // Whether decisions with a single legal action are played at once.
  bool skip_forced = 9;
  // Bytes of one world's row in `view`.
  uint32 view_bytes = 10;
  // Bytes of one world's row in `mask`.
  uint32 mask_bytes = 11;
  // The digest of the table's facts, as CatalogService gives it.
  string spec_digest = 12;
}

// The decisions that some worlds show: one row a world, packed column by column, numbers low byte first. n is the
// number of rows.
message WorldStep {
  // uint8[n]: the seat whose decision the row shows: the one the world was drawn for if it owes one, or else the
  // lowest that does; 255 when the world is over.
  bytes seat = 1;
  // uint8[n]: 1 when it has ended by the rules, 2 when it was cut at its greatest length.
  bytes flags = 2;
  // uint32[n]: how many actions have been applied since the world was drawn.
  bytes ply = 3;
  // float32[n, seats]: the reward of every seat, absolute seat order; zero unless the world has ended by the rules.
  bytes reward = 4;
  // uint8[n, mask_bytes]: the legal actions, action `i` as bit `i % 8` of byte `i / 8`; all zero when over.
  bytes mask = 5;
  // uint8[n, view_bytes]: what the row's seat may know in this world; when over, what the seat may know that the
  // world was drawn for.
  bytes view = 15;
}

// How worlds are played to their end.
enum RolloutPolicy {
  // The default: ROLLOUT_POLICY_ESTIMATE.
  ROLLOUT_POLICY_UNSPECIFIED = 0;
  // Every seat takes what its own estimate likes best one ply ahead, as in the playouts of `mc`.
  ROLLOUT_POLICY_ESTIMATE = 1;
  // Every seat takes any of its legal actions.
  ROLLOUT_POLICY_RANDOM = 2;
}
"#),

("boardwire/v1/search_service.proto", r#"// Searching ahead: worlds that a seat can believe in, to be played on at will.
//
// A world has everything drawn anew that its seat cannot know, from what it knows alone, so that no number of worlds
// tells what is true. It has luck of its own: the same actions lead to the same course.

syntax = "proto3";

package boardwire.v1;

import "boardwire/v1/match.proto";
import "boardwire/v1/search.proto";

option csharp_namespace = "Boardwire.V1";
option go_package = "boardwire/v1;boardwirev1";
option java_multiple_files = true;
option java_outer_classname = "SearchServiceProto";
option java_package = "com.boardwire.v1";
option objc_class_prefix = "BWR";
option php_namespace = "Boardwire\\V1";
option ruby_package = "Boardwire::V1";

// Searches. A request that is refused changes nothing; a world that is over takes no decision: WORLD_OVER. Whoever has drawn worlds proves itself by the same
// `authorization: Bearer TOKEN` in later calls. Calls for one search wait for each other, but for Rollout.
service SearchService {
  // Draws worlds for the seat of a match, which must owe a decision, or for the seats whose decisions a batch shows. The
  // lease of a search ends with CloseSearch, with the connection, and when it has been idle for too long; its places count as
  // environments do. Not safe to retry: it draws another search.
  // Fails with NOT_YOUR_TURN, EPISODE_OVER, NOT_DEALT, ENVIRONMENT_OVER, BATCHES_FULL, ENVIRONMENTS_FULL or
  // CALLER_FULL.
  rpc CreateSearch(CreateSearchRequest) returns (CreateSearchResponse);
  // Makes the decisions that some worlds show, in their places or in copies. Not safe to retry in their places.
  // Fails with WORLD_ACTION_ILLEGAL, WORLD_ACTION_OUT_OF_RANGE or WORLD_OVER, naming the first row of which it is true.
  rpc Advance(AdvanceRequest) returns (AdvanceResponse);
  // Plays worlds to their end, each several times, and tells what came of it; the worlds stay as they are. Safe to retry
  // with `seed`.
  rpc Rollout(RolloutRequest) returns (RolloutResponse);
  // Ends a search. Not safe to retry: it is unknown then.
  rpc CloseSearch(CloseSearchRequest) returns (CloseSearchResponse);
}

// Asks for worlds.
message CreateSearchRequest {
  // What is searched in.
  oneof of {
    // The match of the seat whose token the call carries.
    string match_id = 1;
    // The batch whose owner's token the call carries.
    string batch_id = 2;
  }
  // Which environments of a batch, as in ResetBatchRequest. Empty for all, and for a match.
  bytes mask = 3;
  // How many worlds are drawn for each of them, or for the seat; 1 when left out. Those of one environment lie beside
  // each other.
  uint32 worlds = 4;
  // How many places the search has; as many as there are worlds when left out.
  uint32 places = 5;
  // The seed from which the worlds follow, and the luck to come in each; the server draws one when it is left out.
  optional fixed64 seed = 6;
  // What seats are rewarded for; ranks when unspecified.
  RewardKind reward = 7;
  // Whether decisions with a single legal action are played at once.
  bool skip_forced = 8;
  // The largest message that the client takes, in bytes; 4 MiB when left out.
  uint32 max_message_bytes = 9;
}

// Worlds.
message CreateSearchResponse {
  // The search.
  Search search = 1;
  // The rows of the worlds drawn, in the order of their places.
  WorldStep step = 2;
}

// Makes decisions.
message AdvanceRequest {
  // The search's id.
  string search_id = 1;
  // uint32[n]: the places of the worlds, a row each.
  bytes worlds = 2;
  // uint8[n]: the index of the action for each row.
  bytes actions = 3;
  // uint32[n]: the places into which copies go, all different; the worlds stay as they are then, unless one of them is
  // among these places. Empty to play the worlds themselves, which are all different then.
  bytes into = 4;
}

// What worlds show after decisions.
message AdvanceResponse {
  // The rows of the worlds that were played.
  WorldStep step = 1;
}

// Asks how worlds end.
message RolloutRequest {
  // The search's id.
  string search_id = 1;
  // uint32[n]: the places of the worlds, a row each.
  bytes worlds = 2;
  // How often each is played; 1 when left out. Rows times playouts are at most 65536.
  uint32 playouts = 3;
  // Who plays; the estimate when unspecified.
  RolloutPolicy policy = 4;
  // The seed from which the luck follows, which is the same for the first playout of all worlds, for the second, and so on;
  // the server draws one when it is left out.
  optional fixed64 seed = 5;
}

// How worlds ended.
message RolloutResponse {
  // float32[n, seats]: the mean reward of every seat, absolute seat order; a playout cut at its greatest length counts 0.
  bytes reward = 1;
}

// Asks to end a search.
message CloseSearchRequest {
  // The search's id.
  string search_id = 1;
}

// The search has ended.
message CloseSearchResponse {}
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
