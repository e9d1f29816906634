// A Boardwire agent: joins a match with the code of an invitation and plays until the host closes it.
//
//     agent ADDRESS CODE [--transcript] [--views]
//
// ADDRESS is host:port or unix:/path. To write an agent of your own, replace `choose`.

#include <iostream>
#include <set>

#include "boardwire/v1/catalog.grpc.pb.h"
#include "boardwire/v1/match_service.grpc.pb.h"
#include "wire.hpp"

using namespace boardwire::v1;

namespace {

/// Chooses one of the legal actions. A trained policy looks at the view as well, see `values` in wire.hpp. None looks
/// at `seen.ply()`: simultaneous choices come in any order, so the same game shows other plies.
uint32_t choose(const std::vector<uint32_t>& legal, const Observation& seen) {
  return legal[seen.decision() % legal.size()];
}

class Agent {
 public:
  Agent(const std::string& address, const std::set<std::string>& flags)
      : channel_(connect(address)),
        matches_(MatchService::NewStub(channel_)),
        transcript_(flags.count("--transcript")),
        views_(flags.count("--views")) {}

  /// Takes the seat. With a request id of its own, a join whose answer was lost can be repeated.
  void join(const std::string& code) {
    JoinMatchRequest request;
    request.set_code(code);
    request.set_request_id(uuid());
    insist(*channel_, [&](auto* context) { return matches_->JoinMatch(context, request, &joined_); });
    GetGameRequest table;
    const auto& config = joined_.match().config();
    table.set_game(config.game());
    table.set_seats(config.players_size());
    *table.mutable_options() = config.options();
    GetGameResponse answer;
    const auto catalog = CatalogService::NewStub(channel_);
    insist(*channel_, [&](auto* context) { return catalog->GetGame(context, table, &answer); });
    spec_ = answer.spec();
  }

  /// Plays until the match is closed. When a stream breaks, what was not answered is asked again on another one.
  void play() {
    PlayRequest due = observe();
    for (Patience patience;;) {
      // A stream has no deadline, since others may think for long; so it opens only where there is a connection.
      await_server(*channel_);
      grpc::ClientContext context;
      context.AddMetadata("authorization", "Bearer " + joined_.token());
      const auto stream = matches_->Play(&context);
      PlayResponse answer;
      grpc::Status refused;
      while (stream->Write(due) && stream->Read(&answer)) {
        if (answer.has_error() && !looks_again(reason(answer.error()))) {
          refused = refusal(answer.error());
          context.TryCancel();
          break;
        }
        due = answer.has_error() ? observe() : next(due, answer);
        patience.reset();
      }
      const grpc::Status ended = stream->Finish();
      const grpc::Status& status = refused.ok() ? ended : refused;
      if (reason(status) == "MATCH_CLOSED") return;
      patience.wait(status);
    }
  }

 private:
  /// Asks for the observation; with `wait` it comes when the seat owes a decision or the episode is over.
  PlayRequest observe() const {
    PlayRequest request;
    request.mutable_observe()->set_match_id(joined_.match().id());
    request.mutable_observe()->set_wait(true);
    return request;
  }

  /// What to ask for after an answer: the decision that is due, or the next episode. Both name the one that they are
  /// about, so that a request that is repeated does nothing twice.
  PlayRequest next(const PlayRequest& asked, const PlayResponse& answer) const {
    const Observation& seen = answer.has_act()     ? answer.act().observation()
                              : answer.has_reset() ? answer.reset().observation()
                                                   : answer.observe().observation();
    if (asked.has_act()) log(asked.act());
    PlayRequest request;
    if (seen.terminated() || seen.truncated()) {
      log(seen);
      ResetRequest* reset = request.mutable_reset();
      reset->set_match_id(joined_.match().id());
      reset->set_episode(seen.episode());
      reset->set_wait(true);
      return request;
    }
    if (views_) std::cout << fields(spec_, seen.view()) << std::flush;
    ActRequest* act = request.mutable_act();
    act->set_match_id(joined_.match().id());
    act->set_episode(seen.episode());
    act->set_decision(seen.decision());
    act->set_action(choose(members(seen.mask()), seen));
    act->set_wait(true);
    return request;
  }

  void log(const ActRequest& act) const {
    if (!transcript_) return;
    std::cout << act.episode() << ' ' << act.decision() << ' ' << act.action() << ' '
              << spec_.actions(act.action()).label() << std::endl;
  }

  void log(const Observation& end) const {
    if (!transcript_) return;
    std::cout << end.episode() << " over scores" << words(end.outcome().scores()) << " ranks"
              << words(end.outcome().ranks()) << std::endl;
  }

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<MatchService::Stub> matches_;
  const bool transcript_, views_;
  JoinMatchResponse joined_;
  GameSpec spec_;
};

}  // namespace

int main(int count, char** words) try {
  if (count < 3) throw std::runtime_error("usage: agent ADDRESS CODE [--transcript] [--views]");
  Agent agent(words[1], {words + 3, words + count});
  agent.join(words[2]);
  agent.play();
} catch (const std::exception& error) {
  std::cerr << "agent: " << error.what() << std::endl;
  return 1;
}
