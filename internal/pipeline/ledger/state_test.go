package ledger

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStateIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	s := NewState([16]byte{0xab}, 3)
	s.LowWatermark, s.Plan, s.PlanLeader, s.Rejected = 12, &[2]int64{5, 900}, new(int32(0)), []int64{0, 17}
	s.Ceilings = [][2]int64{{30, 4}, {32, 700}}
	text, err := s.Encode()
	want := `{"v":1,"t":"ab000000-0000-0000-0000-000000000000","e":3,"f":12,"c":[[30,4],[32,700]],"p":[5,900],"l":0,"x":[0,17]}`
	if text != want || err != nil {
		t.Errorf("encoded %s, %v, want %s", text, err, want)
	}
	again, known, err := DecodeState(text)
	if diff := cmp.Diff(s, again); diff != "" || !known || err != nil {
		t.Errorf("known %v, %v (-want +got):\n%s", known, err, diff)
	}
	s.Ceilings = nil
	s.Plan = &[2]int64{1 << 60, 1<<60 + 10_000_000}
	s.PlanLeader = new(int32(1 << 30))
	for n := range int64(20) { // more than windows have
		s.Ceilings = append(s.Ceilings, [2]int64{5_900_000 + n, 100_000_000_000 + n})
	}
	s.Rejected = make([]int64, MaxRejected)
	for i := range s.Rejected {
		s.Rejected[i] = 9_000_000
	}
	if _, err := s.Encode(); err != nil {
		t.Errorf("a plan with as many rejected offsets as it may have: %v", err)
	}
	s.Rejected = make([]int64, maxStateBytes)
	if _, err := s.Encode(); !errors.Is(err, ErrStateTooLong) {
		t.Errorf("a plan beyond the limit: %v", err)
	}
	for _, text := range []string{
		`{"v":2}`, `{"v":1,"p":[5,4]}`, `{"v":1,"x":[1]}`, `{"v":1,"c":[[30,5],[32,4]]}`, `{"v":1,"c":[[30,-1]]}`,
		`{"v":1,"c":[[3000000000,1]]}`, `{}`, `[`,
	} {
		if _, _, err := DecodeState(text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
