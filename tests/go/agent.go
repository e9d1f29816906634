// A Boardwire agent. It joins a match with the code of an invitation and plays until the match is closed.
//
//	agent ADDRESS CODE [--transcript]
//
// ADDRESS is host:port or unix:/path. To write your own agent, replace choose.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	pb "boardwire/v1"

	"google.golang.org/grpc/status"
)

// choose chooses a legal action. A trained policy also uses observation.View; GameSpec.Fields has its layout. Do not
// use observation.Ply: simultaneous actions arrive in any order, so the same game can have different plies.
func choose(legal []uint32, observation *pb.Observation) uint32 {
	return legal[int(observation.Decision)%len(legal)]
}

// agent is an agent with a seat in a match.
type agent struct {
	matches     pb.MatchServiceClient
	joined      *pb.JoinMatchResponse
	transcript  bool
	nextRequest *pb.PlayRequest // the next request, or the request without a response
}

// join joins the match. The request id makes the join idempotent: it can be retried after a lost response.
func join(address, code string, transcript bool) (*agent, error) {
	connection, err := connect(address)
	if err != nil {
		return nil, err
	}
	a := &agent{matches: pb.NewMatchServiceClient(connection), transcript: transcript}
	request := &pb.JoinMatchRequest{Code: code, RequestId: uuid(), WithSpec: true}
	return a, callWithRetry(func(ctx context.Context) (err error) {
		a.joined, err = a.matches.JoinMatch(ctx, request)
		return err
	})
}

// play plays until the match is closed. If a stream breaks, it sends the unanswered request again on a new stream.
func (a *agent) play() error {
	a.nextRequest = a.observe()
	for retries := (retryState{}); ; {
		err := a.stream(&retries)
		if reason(err) == "MATCH_CLOSED" {
			return nil
		}
		if err := retries.wait(err); err != nil {
			return err
		}
	}
}

// stream sends requests and reads responses on one stream until it breaks or an error is final.
func (a *agent) stream(retries *retryState) error {
	// Without a deadline: the other players have no time limit.
	ctx, cancel := context.WithCancel(bearer(context.Background(), a.joined.Token))
	defer cancel()
	stream, err := a.matches.Play(ctx)
	for err == nil {
		// If Send fails, Recv returns the error.
		_ = stream.Send(a.nextRequest)
		var response *pb.PlayResponse
		if response, err = stream.Recv(); err == nil {
			if a.nextRequest, err = a.next(response); err == nil {
				retries.failures = 0
				if a.nextRequest.GetAct() != nil {
					time.Sleep(thinkTime())
				}
			}
		}
	}
	return err
}

// observe returns a request to observe. With Wait, the response comes when a decision is due or the episode is over.
func (a *agent) observe() *pb.PlayRequest {
	observe := &pb.ObserveRequest{MatchId: a.joined.Match.Id, Wait: true}
	return &pb.PlayRequest{Request: &pb.PlayRequest_Observe{Observe: observe}}
}

// next returns the request after a response: for the decision that is due, or for the next episode. Both requests are
// idempotent, since they name their decision or episode.
func (a *agent) next(response *pb.PlayResponse) (*pb.PlayRequest, error) {
	if err := status.ErrorProto(response.GetError()); err != nil {
		if needsObserve(err) {
			return a.observe(), nil
		}
		return a.nextRequest, err
	}
	observation := response.GetObserve().GetObservation()
	if response.GetAct() != nil {
		observation = response.GetAct().Observation
		act := a.nextRequest.GetAct()
		a.log(act.Episode, act.Decision, act.Action, a.joined.Spec.Actions[act.Action].Label)
	} else if response.GetReset_() != nil {
		observation = response.GetReset_().Observation
	}
	if observation.Terminated || observation.Truncated {
		end := fmt.Sprint("scores ", observation.Outcome.GetScores(), " ranks ", observation.Outcome.GetRanks())
		a.log(observation.Episode, "over", strings.NewReplacer("[", "", "]", "").Replace(end))
		reset := &pb.ResetRequest{MatchId: a.joined.Match.Id, Episode: &observation.Episode, Wait: true}
		return &pb.PlayRequest{Request: &pb.PlayRequest_Reset_{Reset_: reset}}, nil
	}
	act := &pb.ActRequest{MatchId: a.joined.Match.Id, Episode: observation.Episode, Wait: true}
	act.Decision, act.Action = observation.Decision, choose(members(observation.Mask), observation)
	return &pb.PlayRequest{Request: &pb.PlayRequest_Act{Act: act}}, nil
}

func (a *agent) log(values ...interface{}) {
	if a.transcript {
		fmt.Println(values...)
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
