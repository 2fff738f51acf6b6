package traffic

import (
	"math"
	"testing"

	"github.com/millrace/millrace/internal/contract/event"
)

func TestARequestOfABrowserCarriesOneVisit(t *testing.T) {
	t.Parallel()
	r := worldOf(2, 1, 3).Requests(0, Mix{Batch: 5, PerVisit: true, Duplicates: 0.1, Disorder: 0.1})
	byVisit, ids, total := map[string]string{}, map[string]bool{}, 0.0
	for range 2000 {
		req := r.Next(noon)
		events, err := new(event.Decoder).DecodeForm(forms[req.Way], many(req.Way), req.Body)
		if err != nil {
			t.Fatal(err)
		}
		visit := string(events[0].SessionID)
		if agent, known := byVisit[visit]; known && agent != req.UserAgent {
			t.Fatalf("a visit of %s is sent as %s, too", agent, req.UserAgent)
		}
		byVisit[visit] = req.UserAgent
		for i := range events {
			if got := string(events[i].SessionID); got != visit {
				t.Fatalf("a request carries the visits %s and %s:\n%s", visit, got, req.Body)
			}
			total++
			ids[string(events[i].EventID)] = true
		}
	}
	if share := total/float64(len(ids)) - 1; share < 0.08 || share > 0.12 {
		t.Errorf("%.3f of the events come again, want 0.1", share)
	}
}

func TestEveryMixIsSentButForWhatMayWait(t *testing.T) {
	t.Parallel()
	for _, mix := range []Mix{
		{Batch: 5, Disorder: 1},
		{Batch: 5, Duplicates: 1},
		{Batch: 5, Duplicates: 0.5, Disorder: 0.5},
		{Batch: 5, Disorder: 1, PerVisit: true},
	} {
		r := worldOf(2, 1, 1).Requests(0, mix)
		for range 500 {
			r.visit(noon) // and not Next, which returns only with something to send
		}
		ids, total := map[string]bool{}, 0.0
		for _, req := range r.ready {
			events, err := new(event.Decoder).DecodeForm(forms[req.Way], many(req.Way), req.Body)
			if err != nil {
				t.Fatal(err)
			}
			for i := range events {
				total++
				ids[string(events[i].EventID)] = true
			}
		}
		made, waiting := int(r.source.count), len(r.open)*(mostDelayed+1)*mix.Batch
		if made == 0 || len(ids) < made-waiting {
			t.Errorf("%+v: %d of %d events are sent, want all but %d at most", mix, len(ids), made, waiting)
		}
		if again := total/float64(len(ids)) - 1; math.Abs(again-mix.Duplicates) > 0.1 {
			t.Errorf("%+v: %.3f of the events come again", mix, again)
		}
	}
}
