package quota_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/tenant/quota"
)

// biller answers by what it is set to.
type biller struct {
	response func(ctx context.Context) (bool, error)
	asked    atomic.Int64
}

func (b *biller) Allowed(ctx context.Context, _ string) (bool, error) {
	b.asked.Add(1)
	return b.response(ctx)
}

var errAway = errors.New("away")

func yes(context.Context) (bool, error)  { return true, nil }
func no(context.Context) (bool, error)   { return false, nil }
func away(context.Context) (bool, error) { return false, errAway }

// hangs ends with its time only.
func hangs(ctx context.Context) (bool, error) {
	<-ctx.Done()
	return false, ctx.Err()
}

const billingTimeout = 300 * time.Millisecond

// external returns an External in the test's bubble, and what asks it.
func external(t *testing.T, b *biller) func(want apierr.Code) {
	t.Helper()
	e := quota.NewExternal(b, billingTimeout, nil)
	t.Cleanup(e.Close)
	return func(want apierr.Code) {
		t.Helper()
		synctest.Wait()
		start := time.Now()
		err := e.Check(t.Context(), "org_1", start)
		if took := time.Since(start); took > billingTimeout {
			t.Errorf("Check() took %s, and may take %s", took, billingTimeout)
		}
		var got apierr.Code
		if err != nil {
			got = apierr.Of(err).Code
		}
		if got != want {
			t.Errorf("Check() = %v, want code %q", err, want)
		}
	}
}

const admitted = apierr.Code("")

func TestTheServiceDecides(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &biller{response: yes}
		check := external(t, b)
		for range 100 {
			check(admitted)
		}
		if n := b.asked.Load(); n != 1 {
			t.Errorf("asked %d times for one answer", n)
		}
		b.response = no
		<-time.After(5 * time.Second)
		check(apierr.QuotaExceeded)
		b.response = yes
		<-time.After(5 * time.Second)
		check(admitted)
	})
}

func TestTheLastDecisionStandsForFiveMinutes(t *testing.T) {
	t.Parallel()
	for name, silence := range map[string]func(context.Context) (bool, error){"failing": away, "hanging": hangs} {
		for last, response := range map[apierr.Code]func(context.Context) (bool, error){
			admitted: yes, apierr.QuotaExceeded: no,
		} {
			t.Run(name+" after "+string(last), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := &biller{response: response}
					check := external(t, b)
					check(last)
					b.response = silence
					begin := time.Now()
					for time.Since(begin) < quota.DecisionValid-2*time.Second {
						check(last)
						<-time.After(time.Second)
					}
					<-time.After(2*time.Second + billingTimeout)
					check(apierr.BillingUnavailable)
					b.response = response
					<-time.After(2 * time.Second)
					check(last)
				})
			})
		}
	}
}

func TestWithoutAnyDecisionNothingIsAdmitted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &biller{response: hangs}
		check := external(t, b)
		for range 20 { // the breaker opens, and closes again
			check(apierr.BillingUnavailable)
		}
		if n := b.asked.Load(); n > 10 {
			t.Errorf("a silent service was asked %d times", n)
		}
		b.response = yes
		<-time.After(2 * time.Second)
		check(admitted)
	})
}

func TestASilentServiceOpensTheBreakerInMetrics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, reg := &biller{response: away}, prometheus.NewRegistry()
		e := quota.NewExternal(b, billingTimeout, reg)
		t.Cleanup(e.Close)
		expect := func(open int) {
			t.Helper()
			synctest.Wait()
			want := fmt.Sprintf(`
# HELP millrace_lookup_breaker_open 1 while reads are suspended because the last ones failed. lookup is billing for the external billing service.
# TYPE millrace_lookup_breaker_open gauge
millrace_lookup_breaker_open{lookup="billing"} %d
`, open)
			if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "millrace_lookup_breaker_open"); err != nil {
				t.Error(err)
			}
		}
		expect(0)
		for range 20 {
			_ = e.Check(t.Context(), "org_1", time.Now())
		}
		expect(1)
		b.response = yes
		<-time.After(2 * time.Second)
		if err := e.Check(t.Context(), "org_1", time.Now()); err != nil {
			t.Error(err)
		}
		expect(0)
	})
}
