package kafka

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/millrace/millrace/internal/contract/record"
)

func TestRecordsGivenUpAreCountedByTheBrokersCode(t *testing.T) {
	t.Parallel()
	for code, rejection := range map[string]*kerr.Error{
		"MESSAGE_TOO_LARGE":          kerr.MessageTooLarge,
		"TOPIC_AUTHORIZATION_FAILED": kerr.TopicAuthorizationFailed,
		"timeout":                    kerr.NotEnoughReplicas, // tried again
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			c, cfg := eventsCluster(t)
			p := newHasty(t, cfg)
			c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: record.TopicEvents, Err: rejection, Count: -1})
			wantUnavailable(t, p.Publish(t.Context(), recordsOf(10, "web_1", "web_1")))
			settled(t, p)
			if n := testutil.ToFloat64(p.metrics.errors.WithLabelValues(code)); n != 2 {
				t.Errorf("%v records of 2 are counted", n)
			}
			if n := testutil.CollectAndCount(p.metrics.errors); n != 1 {
				t.Errorf("%d codes are counted, want one", n)
			}
		})
	}
}

func TestCodesOfRecordsGivenUpAreFew(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		code string
	}{
		{kerr.ErrorForCode(32_000), "UNKNOWN_SERVER_ERROR"},
		{fmt.Errorf("%w (9 bytes)", kerr.MessageTooLarge), "MESSAGE_TOO_LARGE"},
		{kgo.ErrRecordTimeout, "timeout"},
		{fmt.Errorf("%w, last err: %w", kgo.ErrRecordTimeout, kerr.UnknownTopicOrPartition), "UNKNOWN_TOPIC_OR_PARTITION"},
		{kgo.ErrClientClosed, "other"},
		{errors.New("dialing 127.0.0.1: refused"), "other"},
	} {
		if got := produceCode(tc.err); got != tc.code {
			t.Errorf("produceCode(%v) = %s, want %s", tc.err, got, tc.code)
		}
	}
}

func TestBrokersAreUpOnceOneHasAnswered(t *testing.T) {
	t.Parallel()
	_, cfg := eventsCluster(t)
	p := newProducer(t, cfg)
	if p.reach.up() != 0 {
		t.Error("brokers are up before anybody asked them")
	}
	if err := p.Publish(t.Context(), recordsOf(10, "web_1")); err != nil {
		t.Fatal(err)
	}
	if p.reach.up() != 1 {
		t.Error("brokers that acknowledged a record are not up")
	}
}

func TestBrokersAreDownWhenNothingButFailuresComeForFiveSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReach()
		broker := kgo.BrokerMetadata{}
		connected := func(err error) { r.OnBrokerConnect(broker, 0, nil, err) }
		asked := func(err error) { r.OnBrokerE2E(broker, 0, kgo.BrokerE2E{ReadErr: err}) }
		expect := func(when string, want float64) {
			t.Helper()
			if up := r.up(); up != want {
				t.Errorf("%s: up is %v, want %v", when, up, want)
			}
		}
		errRejected := errors.New("refused")
		connected(errRejected)
		expect("never reached", 0)
		connected(nil)
		expect("connected", 1)
		<-time.After(time.Hour)
		expect("idle", 1)
		asked(errRejected)
		<-time.After(downAfter - 1)
		connected(errRejected)
		expect("failing for less than 5 s", 1)
		<-time.After(1)
		expect("failing for 5 s", 0)
		asked(nil)
		expect("answered", 1)
		for range 10 { // one broker of two is away
			connected(errRejected)
			<-time.After(downAfter / 2)
			asked(nil)
		}
		expect("one of two is away", 1)
	})
}
