// A Boardwire agent. It joins a match with the code of an invitation and plays until the match is closed.
//
//     agent ADDRESS CODE [--transcript] [--views]
//
// ADDRESS is host:port or unix:/path. To write your own agent, replace `choose`.

#include <iostream>
#include <set>

#include "boardwire/v1/match_service.grpc.pb.h"
#include "wire.hpp"

using namespace boardwire::v1;

namespace {

/// Chooses a legal action. A trained policy also uses the view: `values` in wire.hpp reads it. Do not use
/// `observation.ply()`: simultaneous actions arrive in any order, so the same game can have different plies.
uint32_t choose(const std::vector<uint32_t>& legal, const Observation& observation) {
  return legal[observation.decision() % legal.size()];
}

class Agent {
 public:
  Agent(const std::string& address, const std::set<std::string>& flags)
      : channel_(connect(address)),
        matches_(MatchService::NewStub(channel_)),
        transcript_(flags.count("--transcript")),
        views_(flags.count("--views")) {}

  /// Joins the match. The request id makes the join idempotent: it can be retried after a lost response.
  void join(const std::string& code) {
    JoinMatchRequest request;
    request.set_code(code);
    request.set_request_id(uuid());
    request.set_with_spec(true);
    call_with_retry(*channel_, [&](auto* context) { return matches_->JoinMatch(context, request, &joined_); });
  }

  /// Plays until the match is closed. If a stream breaks, sends the unanswered request again on a new stream.
  void play() {
    PlayRequest next_request = observe();
    for (Backoff backoff;;) {
      // The stream has no deadline, since the other players have no time limit. So connect first, with a timeout.
      await_server(*channel_);
      grpc::ClientContext context;
      add_account(context);
      context.AddMetadata("authorization", "Bearer " + joined_.token());
      const auto stream = matches_->Play(&context);
      PlayResponse response;
      grpc::Status error;
      while (stream->Write(next_request) && stream->Read(&response)) {
        if (response.has_error() && !needs_observe(reason(response.error()))) {
          error = stream_error_status(response.error());
          context.TryCancel();
          break;
        }
        next_request = response.has_error() ? observe() : next(next_request, response);
        backoff.reset();
        if (next_request.has_act()) std::this_thread::sleep_for(think_time());
      }
      const grpc::Status ended = stream->Finish();
      const grpc::Status& status = error.ok() ? ended : error;
      if (reason(status) == "MATCH_CLOSED") return;
      backoff.wait(status);
    }
  }

 private:
  /// Returns a request to observe. With `wait`, the response comes when a decision is due or the episode is over.
  PlayRequest observe() const {
    PlayRequest request;
    request.mutable_observe()->set_match_id(joined_.match().id());
    request.mutable_observe()->set_wait(true);
    return request;
  }

  /// Returns the request after a response: for the decision that is due, or for the next episode. Both requests are
  /// idempotent, since they name their decision or episode.
  PlayRequest next(const PlayRequest& sent, const PlayResponse& response) const {
    const Observation& observation = response.has_act()     ? response.act().observation()
                                     : response.has_reset() ? response.reset().observation()
                                                            : response.observe().observation();
    if (sent.has_act()) log(sent.act());
    PlayRequest request;
    if (observation.terminated() || observation.truncated()) {
      log(observation);
      ResetRequest* reset = request.mutable_reset();
      reset->set_match_id(joined_.match().id());
      reset->set_episode(observation.episode());
      reset->set_wait(true);
      return request;
    }
    if (views_) std::cout << fields(joined_.spec(), observation.view()) << std::flush;
    ActRequest* act = request.mutable_act();
    act->set_match_id(joined_.match().id());
    act->set_episode(observation.episode());
    act->set_decision(observation.decision());
    act->set_action(choose(members(observation.mask()), observation));
    act->set_wait(true);
    return request;
  }

  void log(const ActRequest& act) const {
    if (!transcript_) return;
    std::cout << act.episode() << ' ' << act.decision() << ' ' << act.action() << ' '
              << joined_.spec().actions(act.action()).label() << std::endl;
  }

  void log(const Observation& end) const {
    if (!transcript_) return;
    std::cout << end.episode() << " over scores" << with_spaces(end.outcome().scores()) << " ranks"
              << with_spaces(end.outcome().ranks()) << std::endl;
  }

  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<MatchService::Stub> matches_;
  const bool transcript_, views_;
  JoinMatchResponse joined_;
};

}  // namespace

int main(int count, char** arguments) try {
  if (count < 3) throw std::runtime_error("usage: agent ADDRESS CODE [--transcript] [--views]");
  Agent agent(arguments[1], {arguments + 3, arguments + count});
  agent.join(arguments[2]);
  agent.play();
} catch (const std::exception& error) {
  std::cerr << "agent: " << error.what() << std::endl;
  return 1;
}
