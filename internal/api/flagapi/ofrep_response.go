package flagapi

import (
	"strconv"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/millrace/millrace/internal/api/httpkit"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/contract/wire"
	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/resource/flag/flagset"
)

// Codes of what went wrong, as the protocol has them.
const (
	general             = "GENERAL"
	parseError          = "PARSE_ERROR"
	invalidContext      = "INVALID_CONTEXT"
	targetingKeyMissing = "TARGETING_KEY_MISSING"
	flagNotFound        = "FLAG_NOT_FOUND"
)

const noTargetingKey = "The flag is served to a part of all people, " +
	"and the context has neither targetingKey nor email to tell which part"

// ofrepReasons are flageval's as the protocol has them. The default is STATIC where nothing
// else could be served.
var ofrepReasons = [...]string{
	flageval.Off:                "DISABLED",
	flageval.PrerequisiteFailed: "DISABLED",
	flageval.ByTarget:           "TARGETING_MATCH",
	flageval.ByRule:             "TARGETING_MATCH",
	flageval.ByRollout:          "SPLIT",
	flageval.BySplit:            "SPLIT",
	flageval.RolloutMiss:        "SPLIT",
	flageval.ByDefault:          "UNKNOWN",
}

const ofrepStatic = "STATIC"

// appendServed appends what somebody gets of a flag. Values are kept as JSON, and keys and
// ids have nothing in them that JSON escapes.
func appendServed(dst []byte, f *flagset.Flag, environment string, r flageval.Result) []byte {
	v, reason := f.Variant(r.Variant), ofrepReasons[r.Reason]
	if r.Reason == flageval.ByDefault && f.Static(environment) {
		reason = ofrepStatic
	}
	dst = append(append(dst, `{"key":"`...), f.Key()...)
	dst = append(append(dst, `","value":`...), v.Value...)
	dst = append(append(dst, `,"reason":"`...), reason...)
	dst = append(append(dst, `","variant":"`...), v.Key...)
	dst = append(append(dst, `","metadata":{"flagId":"`...), f.ID...)
	return append(strconv.AppendInt(append(dst, `","version":`...), f.Version, 10), `}}`...)
}

// appendFailure appends why somebody gets nothing: of one flag, or of all.
func appendFailure(dst []byte, key string, one bool, code, details string) []byte {
	dst = append(dst, '{')
	if one {
		dst = append(wire.AppendHTMLSafe(append(dst, `"key":`...), key), ',')
	}
	dst = append(append(dst, `"errorCode":"`...), code...)
	return append(wire.AppendHTMLSafe(append(dst, `","errorDetails":`...), details), '}')
}

// question is a request of the protocol.
type question struct {
	flag string // the key; of one flag only
	one  bool
	code string // of what went wrong
}

// questionKey is where a question stands among the values of a request.
type questionKey struct{}

// newQuestion notes that a request is one of the protocol.
func newQuestion(c *fiber.Ctx) *question {
	q := &question{code: general}
	if key := c.Params(pathKey); key != "" {
		q.flag, q.one = unescaped(key), true
	}
	c.Context().SetUserValue(questionKey{}, q)
	return q
}

// reject returns an API error, and notes the code that the protocol has for it.
func (q *question) reject(code string, kind apierr.Code, message string) error {
	return q.because(code, &apierr.Error{Code: kind, Message: message})
}

func (q *question) because(code string, err error) error {
	q.code = code
	return err
}

func (q *question) failure(message string) []byte {
	return appendFailure(nil, q.flag, q.one, q.code, message)
}

// Page answers a rejected request of the protocol in its form, for httpkit.Config.
func Page(rc *fasthttp.RequestCtx, r httpkit.Rejection) bool {
	q, is := rc.UserValue(questionKey{}).(*question)
	if is {
		rc.SetBody(q.failure(r.Message))
	}
	return is
}
