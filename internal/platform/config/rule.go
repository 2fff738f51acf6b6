package config

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rules are what the tags of a setting demand of its value:
//
//	range:"1ms..1m"   a number or duration within both bounds
//	oneof:"json text" one of the words
//	form:"listen"     a form of the table below, for a list: each of its items
//	empty:"ok"        empty is a value too
type rules struct {
	low, high string
	oneOf     []string
	form      string
	emptyOK   bool
}

func parseRules(tag reflect.StructTag) rules {
	low, high, _ := strings.Cut(tag.Get("range"), "..")
	return rules{
		low: low, high: high, oneOf: strings.Fields(tag.Get("oneof")),
		form: tag.Get("form"), emptyOK: tag.Get("empty") == "ok",
	}
}

// form is a syntax that a text must have.
type form struct {
	says  string // completes "must be"
	check func(string) bool
}

var forms = map[string]form{
	"listen":   {"host:port", isListen},
	"loopback": {"host:port with a loopback host such as 127.0.0.1", isLoopback},
	"address":  {"host:port with a port of 1 to 65535", isAddress},
	"endpoint": {"an http:// or https:// URL with a host", isEndpoint},
	"origin":   {"an origin such as https://example.com:8443, in lower case, without a default port or a path", isOrigin},
	"network":  {"an address such as 10.0.0.7 or a range such as 10.0.0.0/8, but not /0", isNetwork},
	"store":    {"sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE", isStoreURL},
	"redis":    {"redis://HOST:PORT, or rediss:// for TLS", isRedisURL},
	"topic": {
		"up to 64 letters, digits, dots, underscores and hyphens", regexp.MustCompile(`^[A-Za-z0-9._-]{0,64}$`).MatchString,
	},
	"identifier": {
		"a letter or underscore followed by up to 63 letters, digits and underscores",
		regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`).MatchString,
	},
	"prefix": {
		"a lower-case letter followed by up to 15 lower-case letters and digits",
		regexp.MustCompile(`^[a-z][a-z0-9]{0,15}$`).MatchString,
	},
	"header": {
		"a header name of up to 64 letters, digits and hyphens",
		regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`).MatchString,
	},
	"text":    {"text of up to 255 bytes", func(s string) bool { return len(s) <= 255 }},
	"scheme":  {"a lower-case scheme other than javascript, data, vbscript, file, blob, about or intent", isScheme},
	"mailbox": {"an e-mail address, with or without a name", isMailbox},
	"contact": {"an e-mail address, or a mailto:, https: or tel: URI", isContact},
	"lane": {"live, backfill, web, clicks, exposures or none", func(s string) bool {
		return slices.Contains([]string{"live", "backfill", "web", "clicks", "exposures", "none"}, s)
	}},
	"path": {"a path", func(s string) bool { return !strings.ContainsRune(s, 0) }},
}

var schemeForm = regexp.MustCompile(`^[a-z][a-z0-9+.-]{0,31}$`)

// isScheme takes schemes to which visitors may be sent: none that a browser runs, or opens
// on the visitor's machine.
func isScheme(s string) bool {
	switch s {
	case "javascript", "data", "vbscript", "file", "blob", "about", "intent":
		return false
	}
	return schemeForm.MatchString(s)
}

// plainForms say nothing that the help does not.
var plainForms = []string{"listen", "text", "path"}

// describe completes "accepts" on the reference page.
func (r rules) describe() string {
	var s string
	switch {
	case r.low != "":
		s = r.low + " to " + r.high
	case len(r.oneOf) > 0:
		s = strings.Join(r.oneOf, ", ")
	case r.form != "" && !slices.Contains(plainForms, r.form):
		s = forms[r.form].says
	}
	if s != "" && r.emptyOK {
		s += "; or empty"
	}
	return s
}

var errEmpty = errors.New("must not be empty")

// check returns what is wrong with a value; it quotes no secret.
func (r rules) check(v reflect.Value) error {
	switch x := v.Interface().(type) {
	case []string:
		if len(x) == 0 && !r.emptyOK {
			return errEmpty
		}
		for _, item := range x {
			if err := r.checkText(item, strconv.Quote(item)); err != nil {
				return err
			}
		}
		return nil
	case Secret:
		return r.checkText(x.Reveal(), "the value")
	case string:
		return r.checkText(x, strconv.Quote(x))
	case bool:
		return nil
	default:
		return r.checkRange(v)
	}
}

func (r rules) checkText(s, quoted string) error {
	switch {
	case s == "" && r.emptyOK:
		return nil
	case s == "":
		return errEmpty
	case len(r.oneOf) > 0 && !slices.Contains(r.oneOf, s):
		return fmt.Errorf("%s must be one of %s", quoted, strings.Join(r.oneOf, ", "))
	case r.form != "" && !forms[r.form].check(s):
		return fmt.Errorf("%s must be %s", quoted, forms[r.form].says)
	}
	return nil
}

func (r rules) checkRange(v reflect.Value) error {
	low, high := r.bounds(v.Type())
	x := toNumber(v)
	if x >= low && x <= high { // false for NaN
		return nil
	}
	return fmt.Errorf("%s must be between %s and %s", formatValue(v), r.low, r.high)
}

func (r rules) bounds(t reflect.Type) (low, high float64) {
	ends := [2]float64{}
	for i, text := range []string{r.low, r.high} {
		if v, err := convert(t, text); err == nil { // a test reads every tag
			ends[i] = toNumber(reflect.ValueOf(v))
		}
	}
	return ends[0], ends[1]
}

// toNumber makes the three kinds of numbers comparable. Every bound is far below
// 2^53, so that nothing is lost.
func toNumber(v reflect.Value) float64 {
	switch x := v.Interface().(type) {
	case time.Duration:
		return float64(x)
	case int:
		return float64(x)
	case float64:
		return x
	default:
		return 0
	}
}

func splitAddress(s string, lowestPort int) (host string, ok bool) {
	host, port, err := net.SplitHostPort(s)
	if err != nil || strings.ContainsAny(host, " \t/@") {
		return "", false
	}
	n, err := strconv.Atoi(port)
	return host, err == nil && n >= lowestPort && n <= 65535 && port[0] != '+'
}

func isMailbox(s string) bool {
	_, err := mail.ParseAddress(s)
	return err == nil && !strings.ContainsAny(s, "\r\n")
}

// telForm matches the part of a tel: URI after the scheme.
var telForm = regexp.MustCompile(`^\+?[0-9().-]*[0-9][0-9().-]*$`)

// isContact accepts the contacts of RFC 9116 in printable ASCII, so that none adds a line to
// security.txt.
func isContact(s string) bool {
	u, err := url.Parse(contactURI(s))
	if err != nil || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return false
	}
	switch u.Scheme {
	case "mailto":
		address, err := mail.ParseAddress(u.Opaque)
		return err == nil && address.Address == u.Opaque
	case "https":
		return u.Hostname() != ""
	case "tel":
		return telForm.MatchString(u.Opaque)
	}
	return false
}

// contactURI returns a contact as a URI: an e-mail address becomes a mailto: URI.
func contactURI(s string) string {
	if s == "" || strings.Contains(s, ":") {
		return s
	}
	return "mailto:" + s
}

// isListen allows port 0, which lets the system choose.
func isListen(s string) bool {
	_, ok := splitAddress(s, 0)
	return ok
}

func isAddress(s string) bool {
	host, ok := splitAddress(s, 1)
	return ok && host != ""
}

func isLoopback(s string) bool {
	host, ok := splitAddress(s, 0)
	if host == "localhost" {
		return ok
	}
	ip, err := netip.ParseAddr(host)
	return ok && err == nil && ip.IsLoopback()
}

func isEndpoint(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

func isStoreURL(s string) bool {
	if path, ok := strings.CutPrefix(s, "sqlite:"); ok {
		return path != ""
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") && u.Host != "" &&
		strings.Trim(u.Path, "/") != ""
}

func isRedisURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "redis" || u.Scheme == "rediss") && u.Host != ""
}
