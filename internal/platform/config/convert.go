package config

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// convert turns a raw value, a text from a flag or a variable or whatever YAML
// made of one, into the type of a setting. Its errors quote no secret.
func convert(t reflect.Type, raw any) (any, error) {
	switch t {
	case durationType:
		return toDuration(raw)
	case secretType:
		s, err := toText(raw)
		return Secret(s), err
	case listType:
		return toList(raw)
	}
	switch t.Kind() {
	case reflect.Int:
		return toInt(raw)
	case reflect.Float64:
		return toFloat(raw)
	case reflect.Bool:
		return toBool(raw)
	default:
		return toText(raw)
	}
}

// toText rejects what YAML read as a number: 0123 would have lost its zero.
func toText(raw any) (string, error) {
	s, ok := raw.(string)
	if !ok {
		return "", errors.New("must be text: put the value in quotes")
	}
	return s, nil
}

func toDuration(raw any) (time.Duration, error) {
	if n, ok := raw.(int); ok && n != 0 {
		return 0, fmt.Errorf("%d must have a unit, as in 250ms, 5s or 1h", n)
	}
	d, err := time.ParseDuration(strings.TrimSpace(fmt.Sprint(raw)))
	if err != nil {
		return 0, fmt.Errorf("%q must be a duration such as 250ms, 5s or 1h", fmt.Sprint(raw))
	}
	return d, nil
}

func toList(raw any) ([]string, error) {
	switch x := raw.(type) {
	case string:
		if strings.TrimSpace(x) == "" {
			return nil, nil
		}
		list := strings.Split(x, listDivider)
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
		return list, nil
	case []any:
		list := make([]string, len(x))
		for i, item := range x {
			s, err := toText(item)
			if err != nil {
				return nil, fmt.Errorf("item %d %w", i+1, err)
			}
			list[i] = s
		}
		return list, nil
	default:
		return nil, errors.New("must be a list: write [a, b] or \"a,b\"")
	}
}

func toInt(raw any) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(fmt.Sprint(raw)))
	if err != nil {
		return 0, fmt.Errorf("%q must be a whole number", fmt.Sprint(raw))
	}
	return n, nil
}

func toFloat(raw any) (float64, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(fmt.Sprint(raw)), 64)
	if err != nil {
		return 0, fmt.Errorf("%q must be a number", fmt.Sprint(raw))
	}
	return x, nil
}

func toBool(raw any) (bool, error) {
	switch strings.TrimSpace(fmt.Sprint(raw)) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%q must be true or false", fmt.Sprint(raw))
}
