package analytics

import (
	"strconv"
	"strings"
	"time"
)

// Param is a typed parameter of a statement, written {Name:Type} in its text.
type Param struct {
	Name string
	// Type is the ClickHouse type.
	Type string
	// Text is the value as ClickHouse reads it from an HTTP param_ field: the
	// escaped form of tab-separated values.
	Text string
}

// The types of parameters.
const (
	typeString  = "String"
	typeStrings = "Array(String)"
	typeInstant = "DateTime64(3, 'UTC')"
	typeDate    = "Date"
	typeDates   = "Array(Date)"
	typeUint    = "UInt64"
	typeSeconds = "Array(UInt32)"
	typeNumber  = "Float64"
	typeNumbers = "Array(Float64)"
)

// escape protects what tab-separated values give a meaning to.
var escape = strings.NewReplacer(
	"\\", `\\`, "\t", `\t`, "\n", `\n`, "\r", `\r`, "\x00", `\0`, "\b", `\b`, "\f", `\f`, "'", `\'`,
)

func stringParam(name, value string) Param {
	return Param{Name: name, Type: typeString, Text: escape.Replace(value)}
}

func stringsParam(name string, values []string) Param {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("'" + escape.Replace(v) + "'")
	}
	return Param{Name: name, Type: typeStrings, Text: "[" + b.String() + "]"}
}

func numberParam(name string, value float64) Param {
	return Param{Name: name, Type: typeNumber, Text: strconv.FormatFloat(value, 'g', -1, 64)}
}

func numbersParam(name string, values []float64) Param {
	b := []byte{'['}
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, v, 'g', -1, 64)
	}
	return Param{Name: name, Type: typeNumbers, Text: string(append(b, ']'))}
}

func uintParam(name string, value int) Param {
	return Param{Name: name, Type: typeUint, Text: strconv.Itoa(value)}
}

func instantParam(name string, t time.Time) Param {
	return Param{Name: name, Type: typeInstant, Text: t.UTC().Format("2006-01-02 15:04:05.000")}
}

func dateParam(name string, t time.Time) Param {
	return Param{Name: name, Type: typeDate, Text: t.UTC().Format(time.DateOnly)}
}

func secondsParam(name string, buckets []Bucket) Param {
	b := make([]byte, 0, 2+11*len(buckets))
	b = append(b, '[')
	for i, k := range buckets {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, k.Start.Unix(), 10)
	}
	return Param{Name: name, Type: typeSeconds, Text: string(append(b, ']'))}
}

func datesParam(name string, days []time.Time) Param {
	texts := make([]string, len(days))
	for i, d := range days {
		texts[i] = "'" + d.UTC().Format(time.DateOnly) + "'"
	}
	return Param{Name: name, Type: typeDates, Text: "[" + strings.Join(texts, ",") + "]"}
}
