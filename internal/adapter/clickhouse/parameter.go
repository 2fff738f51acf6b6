package clickhouse

import (
	"strconv"
	"strings"

	"github.com/ClickHouse/ch-go/proto"
)

// Quote protects a parameter on its way through the native protocol, where it
// travels as a quoted literal.
var Quote = strings.NewReplacer(`\`, `\\`, `'`, `\'`)

// QuoteName returns an identifier in backquotes.
func QuoteName(name string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(name) + "`"
}

// StringParameter is a parameter without characters that its form gives a meaning to: an id, a
// number or a name of ours.
func StringParameter(name, value string) proto.Parameter {
	return proto.Parameter{Key: name, Value: "'" + Quote.Replace(value) + "'"}
}

// IntParameter is a parameter that is a number.
func IntParameter(name string, value int64) proto.Parameter {
	return StringParameter(name, strconv.FormatInt(value, 10))
}

// escapeText protects what the form of a parameter's text gives a meaning to,
// which is that of tab-separated values.
var escapeText = strings.NewReplacer("\\", `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\x00", `\0`)

// TextParameter is a StringParameter of any text.
func TextParameter(name, value string) proto.Parameter {
	return StringParameter(name, escapeText.Replace(value))
}
