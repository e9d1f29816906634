package main

// What any agent in Go needs around the generated stubs: a connection, patience, masks, the reasons of refusals.

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// connect gives a connection to host:port or unix:/path, which is made at the first call and again whenever it is lost.
func connect(address string) (*grpc.ClientConn, error) {
	again := grpc.ConnectParams{Backoff: backoff.DefaultConfig, MinConnectTimeout: 10 * time.Second}
	again.Backoff.BaseDelay = 100 * time.Millisecond
	return grpc.Dial(address,
		grpc.WithInsecure(),
		grpc.WithConnectParams(again),
		// A stream may be silent for as long as others think: pings tell whether the server is still there.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second}),
		// What a server sends at most; the library takes 4 MiB otherwise.
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
}

// bearer gives a context in which calls are the seat's.
func bearer(ctx context.Context, token string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

// reason tells why the server refused. It is empty for what does not come from Boardwire, such as a lost connection.
func reason(err error) string {
	refusal, _ := status.FromError(err)
	for _, detail := range refusal.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.Reason
		}
	}
	return ""
}

// looksAgain tells whether the host has begun another episode, or ended this one, or time has run out: then an agent
// observes again.
func looksAgain(refusal error) bool {
	switch reason(refusal) {
	case "DECISION_STALE", "DECISION_LATE", "EPISODE_OVER", "NOT_YOUR_TURN":
		return true
	}
	return false
}

// patience bears failures in a row: it waits longer after each, and gives up in the end.
type patience struct {
	failures int
	last     time.Time
}

// wait returns nothing when it is time to try again, and a refusal, which would come again, as it is.
func (p *patience) wait(err error) error {
	code, why := status.Code(err), reason(err)
	// The server tells of a deadline too, if it notices first.
	passes := code == codes.Unavailable || code == codes.ResourceExhausted || why == "" || why == "TIMED_OUT"
	if time.Since(p.last) > time.Minute {
		p.failures = 0 // Those before are not in a row with this one.
	}
	p.last = time.Now()
	p.failures++
	if !passes || p.failures > 10 {
		return fmt.Errorf("%w %s", err, why)
	}
	pause := 50 * time.Millisecond << p.failures
	if pause > 5*time.Second {
		pause = 5 * time.Second
	}
	time.Sleep(pause)
	return nil
}

// insist calls until there is an answer, each time with a deadline: for methods that are safe to repeat.
func insist(call func(ctx context.Context) error) error {
	once := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		return call(ctx)
	}
	for patience := (patience{}); ; {
		err := once()
		if err == nil {
			return nil
		}
		if err := patience.wait(err); err != nil {
			return err
		}
	}
}

// uuid gives a fresh random UUID, which makes a request safe to repeat.
func uuid() string {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		panic(err)
	}
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// members gives the members of a set of bits: action i is bit i % 8 of byte i / 8.
func members(mask []byte) []uint32 {
	var all []uint32
	for i := 0; i < 8*len(mask); i++ {
		if mask[i/8]>>(i%8)&1 == 1 {
			all = append(all, uint32(i))
		}
	}
	return all
}
