package doctor

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/privacy/erasure"
)

// How far two clocks may be apart. Windows are moved by what edges write as time of
// receipt, and a sink takes no more than 10 minutes ahead of its own clock. Erasures reach
// as far as clocks may be apart unnoticed.
const (
	noticeable = erasure.ClockSlack
	tooFar     = time.Minute
)

// clocks compares the clock of a server, as it answered a question that was asked
// and answered at two times of this machine.
func (n *notebook) clocks(check, server string, shown, asked, answered time.Time) {
	ahead := shown.Sub(asked.Add(answered.Sub(asked) / 2))
	margin := answered.Sub(asked) / 2
	off := ahead.Abs() - margin
	what := fmt.Sprintf("the clock of %s is %s %s this machine's",
		server, ahead.Abs().Round(10*time.Millisecond), direction(ahead))
	const why = "receive times decide which events count as duplicates and on which day an event falls; a wrong clock " +
		"shortens windows"
	const do = `synchronize both clocks with chrony or systemd-timesyncd: "timedatectl status", "chronyc tracking"`
	switch {
	case off > tooFar:
		n.fail(check, what, why, do)
	case off > noticeable:
		n.warn(check, what, why, do)
	default:
		n.ok(check, fmt.Sprintf("the clock of %s agrees within %s", server, (off.Abs()+2*margin).Round(time.Millisecond)))
	}
}

func direction(ahead time.Duration) string {
	if ahead < 0 {
		return "behind"
	}
	return "ahead of"
}
