package fault

import (
	"testing"

	"github.com/millrace/millrace/internal/pipeline/sink/sinktest"
)

// everywhere runs a trial at each of a sink's points: strike does what is to happen there, and
// what is left is judged. At one point it runs on both brokers always. Who is asked to give
// partitions back waits for others.
func (tr *trial) everywhere(
	t *testing.T, points []sinktest.Failpoint, onBoth sinktest.Failpoint, strike func(*stage, sinktest.Failpoint),
) {
	t.Helper()
	for _, at := range points {
		t.Run(string(at), func(t *testing.T) {
			one := *tr
			one.point, one.few, one.waits = string(at), 1, tr.waits || at == sinktest.FailpointRevoking
			if at == onBoth {
				one.on = bothBrokers
			}
			one.body = func(_ *testing.T, s *stage) {
				strike(s, at)
				s.judge()
			}
			one.run(t)
		})
	}
}

// untilSeen runs a schedule with one seed after the other until harm has been done. A machine
// that is too busy for the schedule gets other tries; that it works out once is enough.
func untilSeen(t *testing.T, harm string, schedule func(*stage), done func(*verdict) int) {
	t.Helper()
	const tries = 10
	for seed := range uint64(tries) {
		s := newStage(t, seed+1)
		schedule(s)
		s.count()
		if done(&s.verdict) > 0 {
			return
		}
		t.Logf("not %s: %+v", harm, s.verdict)
	}
	t.Errorf("not %s, %d times", harm, tries)
}
