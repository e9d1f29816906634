// A Boardwire agent: joins a match with the code of an invitation and plays until the host closes it.
//
//	agent ADDRESS CODE [--transcript]
//
// ADDRESS is host:port or unix:/path. To write an agent of your own, replace choose.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	pb "boardwire/v1"

	"google.golang.org/grpc/status"
)

// choose chooses one of the legal actions. A trained policy looks at seen.View as well, which GameSpec.Fields lays out.
// None looks at seen.Ply: simultaneous choices come in any order, so the same game shows other plies.
func choose(legal []uint32, seen *pb.Observation) uint32 {
	return legal[int(seen.Decision)%len(legal)]
}

// agent is who has a seat of a match.
type agent struct {
	matches    pb.MatchServiceClient
	joined     *pb.JoinMatchResponse
	spec       *pb.GameSpec
	transcript bool
	due        *pb.PlayRequest // what is to be asked, or has not been answered yet
}

// join takes the seat. With a request id of its own, a join whose answer was lost can be repeated.
func join(address, code string, transcript bool) (*agent, error) {
	connection, err := connect(address)
	if err != nil {
		return nil, err
	}
	a := &agent{matches: pb.NewMatchServiceClient(connection), transcript: transcript}
	request := &pb.JoinMatchRequest{Code: code, RequestId: uuid()}
	err = insist(func(ctx context.Context) (err error) {
		a.joined, err = a.matches.JoinMatch(ctx, request)
		return err
	})
	if err != nil {
		return nil, err
	}
	config := a.joined.Match.Config
	table := &pb.GetGameRequest{Game: config.Game, Seats: uint32(len(config.Players)), Options: config.Options}
	return a, insist(func(ctx context.Context) error {
		answer, err := pb.NewCatalogServiceClient(connection).GetGame(ctx, table)
		a.spec = answer.GetSpec()
		return err
	})
}

// play plays until the match is closed. When a stream breaks, what was not answered is asked again on another one.
func (a *agent) play() error {
	a.due = a.observe()
	for patience := (patience{}); ; {
		err := a.stream(&patience)
		if reason(err) == "MATCH_CLOSED" {
			return nil
		}
		if err := patience.wait(err); err != nil {
			return err
		}
	}
}

// stream asks and is answered on one stream, until it breaks or a request is refused.
func (a *agent) stream(patience *patience) error {
	// It has no deadline, since others may think for long.
	ctx, cancel := context.WithCancel(bearer(context.Background(), a.joined.Token))
	defer cancel()
	stream, err := a.matches.Play(ctx)
	for err == nil {
		// If it cannot be sent, Recv tells why.
		_ = stream.Send(a.due)
		var answer *pb.PlayResponse
		if answer, err = stream.Recv(); err == nil {
			if a.due, err = a.next(answer); err == nil {
				patience.failures = 0
			}
		}
	}
	return err
}

// observe asks for the observation; with Wait it comes when the seat owes a decision or the episode is over.
func (a *agent) observe() *pb.PlayRequest {
	observe := &pb.ObserveRequest{MatchId: a.joined.Match.Id, Wait: true}
	return &pb.PlayRequest{Request: &pb.PlayRequest_Observe{Observe: observe}}
}

// next tells what to ask for after an answer: the decision that is due, or the next episode. Both name the one that they
// are about, so that a request that is repeated does nothing twice.
func (a *agent) next(answer *pb.PlayResponse) (*pb.PlayRequest, error) {
	if err := status.ErrorProto(answer.GetError()); err != nil {
		if looksAgain(err) {
			return a.observe(), nil
		}
		return a.due, err
	}
	seen := answer.GetObserve().GetObservation()
	if answer.GetAct() != nil {
		seen = answer.GetAct().Observation
		act := a.due.GetAct()
		a.log(act.Episode, act.Decision, act.Action, a.spec.Actions[act.Action].Label)
	} else if answer.GetReset_() != nil {
		seen = answer.GetReset_().Observation
	}
	if seen.Terminated || seen.Truncated {
		end := fmt.Sprint("scores ", seen.Outcome.GetScores(), " ranks ", seen.Outcome.GetRanks())
		a.log(seen.Episode, "over", strings.NewReplacer("[", "", "]", "").Replace(end))
		reset := &pb.ResetRequest{MatchId: a.joined.Match.Id, Episode: &seen.Episode, Wait: true}
		return &pb.PlayRequest{Request: &pb.PlayRequest_Reset_{Reset_: reset}}, nil
	}
	act := &pb.ActRequest{MatchId: a.joined.Match.Id, Episode: seen.Episode, Decision: seen.Decision, Wait: true}
	act.Action = choose(members(seen.Mask), seen)
	return &pb.PlayRequest{Request: &pb.PlayRequest_Act{Act: act}}, nil
}

func (a *agent) log(words ...interface{}) {
	if a.transcript {
		fmt.Println(words...)
	}
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: agent ADDRESS CODE [--transcript]")
		os.Exit(2)
	}
	a, err := join(os.Args[1], os.Args[2], len(os.Args) > 3 && os.Args[3] == "--transcript")
	if err == nil {
		err = a.play()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}
