package traffic

import (
	"fmt"
	"strconv"
)

// action is something that visitors do, which the website tells as an event of its
// own.
type action struct {
	name []byte
	// properties appends a compact JSON object.
	properties func(dst []byte, r *random) []byte
}

// actionsOf says what is done, by the kind of website; the first most.
var actionsOf = [...][]action{
	{
		{[]byte("add_to_cart"), func(dst []byte, r *random) []byte {
			return fmt.Appendf(dst, `{"sku":"item-%03d","price":%d.%02d,"quantity":%d,"currency":"EUR"}`,
				r.rank(400), r.between(4, 240), r.between(0, 99), r.between(1, 3))
		}},
		{[]byte("search"), appendSearch},
		{[]byte("purchase"), func(dst []byte, r *random) []byte {
			return fmt.Appendf(dst, `{"revenue":%d.%02d,"items":%d,"currency":"EUR","coupon":%t}`,
				r.between(9, 400), r.between(0, 99), r.between(1, 6), r.chance(0.2))
		}},
	},
	{
		{[]byte("video_play"), func(dst []byte, r *random) []byte {
			return fmt.Appendf(dst, `{"video":"v-%02d","seconds":%d}`, r.rank(60), r.between(3, 900))
		}},
		{[]byte("newsletter"), func(dst []byte, r *random) []byte {
			return append(append(append(dst, `{"list":"`...), campaigns[r.below(len(campaigns))]...), `"}`...)
		}},
		{[]byte("search"), appendSearch},
	},
	{
		{[]byte("feature_used"), func(dst []byte, r *random) []byte {
			return fmt.Appendf(dst, `{"feature":"f-%02d","duration_ms":%d,"beta":%t}`,
				r.rank(40), int(r.around(300, 10)), r.chance(0.1))
		}},
		{[]byte("signup"), func(dst []byte, r *random) []byte {
			return append(append(append(dst, `{"plan":"`...), plans[r.below(len(plans))]...), `","trial":true}`...)
		}},
		{[]byte("download"), func(dst []byte, r *random) []byte {
			return append(strconv.AppendInt(append(dst, `{"file":"guide-`...), int64(r.rank(20)), 10), `.pdf"}`...)
		}},
	},
}

var plans = [...]string{"free", "pro", "team", "enterprise"}

var words = [...]string{
	"shoes", "jacket", "api", "pricing", "refund", "login", "install", "export", "invoice", "dark mode",
}

func appendSearch(dst []byte, r *random) []byte {
	dst = append(append(dst, `{"query":"`...), words[r.rank(len(words))]...)
	return append(strconv.AppendInt(append(dst, `","results":`...), int64(r.below(80)), 10), '}')
}
