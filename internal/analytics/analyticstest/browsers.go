package analyticstest

import (
	"math"
	"net/url"
	"slices"
	"strings"
)

// breakdown is page views per value of a text of the web.
func breakdown(column string) func([]Event, *Question) []Row {
	return func(events []Event, _ *Question) []Row {
		views := only(events, isView)
		var rows []Row
		values, groups := group(views, func(e *Event) string { return e.Web[column] })
		for _, v := range values {
			if v != "" {
				rows = append(rows, viewsOf(v, groups[v], views))
			}
		}
		return rows
	}
}

func viewsOf(name string, of, all []Event) Row {
	return Row{
		"name": name, "pageviews": float64(len(of)), "visitors": distinct(of, visitorOf),
		"percentage": share(len(of), len(all)),
	}
}

// countryNames are those of the codes that the tests use.
var countryNames = map[string]string{"AT": "Austria", "US": "United States", "XX": "XX"}

func countries(events []Event, q *Question) []Row {
	rows := breakdown("country")(events, q)
	for _, r := range rows {
		r["country_code"] = r["name"]
		r["name"] = countryNames[r["name"].(string)]
		r["country_name"] = r["name"]
	}
	return rows
}

// places are views per place and country.
func places(column string) func([]Event, *Question) []Row {
	return func(events []Event, _ *Question) []Row {
		views := only(events, isView)
		var rows []Row
		keys, groups := group(views, func(e *Event) string { return e.Web[column] + "\x00" + e.Web["country"] })
		for _, k := range keys {
			name, code, _ := strings.Cut(k, "\x00")
			if name == "" {
				continue
			}
			row := viewsOf(name, groups[k], views)
			row["country_code"], row["country_name"], row["country"] = code, countryNames[code], countryNames[code]
			rows = append(rows, row)
		}
		return rows
	}
}

func isExternalView(e *Event) bool { return isView(e) && e.Web["referrer_kind"] != "internal" }

func kindOfReferrer(e *Event) string {
	if k := e.Web["referrer_kind"]; k != "" {
		return k
	}
	return "direct"
}

func nameOfReferrer(e *Event) string {
	switch {
	case kindOfReferrer(e) == "direct":
		return "Direct"
	case e.Web["referrer_name"] == "":
		return e.Web["referrer_host"]
	}
	return e.Web["referrer_name"]
}

func referrers(by func(*Event) string) func([]Event, *Question) []Row {
	return func(events []Event, _ *Question) []Row {
		views := only(events, isExternalView)
		var rows []Row
		names, groups := group(views, by)
		for _, n := range names {
			least := func(get func(*Event) string) string {
				var all []string
				for i := range groups[n] {
					all = append(all, get(&groups[n][i]))
				}
				return slices.Min(all)
			}
			row := viewsOf(n, groups[n], views)
			row["referrer"] = least(func(e *Event) string { return e.Web["referrer"] })
			row["source"] = least(func(e *Event) string { return e.Web["utm_source"] })
			row["domain"] = least(func(e *Event) string { return e.Web["referrer_host"] })
			row["referrer_type"], row["parsed_referrer"] = least(kindOfReferrer), least(nameOfReferrer)
			rows = append(rows, row)
		}
		return rows
	}
}

func recentErrors(events []Event, _ *Question) []Row {
	var rows []Row
	for i := range events {
		e := &events[i]
		rows = append(rows, Row{
			"message": e.Web["message"], "stack": e.Web["stack"], "path": e.Path, "anonymous_id": e.AnonymousID,
			"session_id": e.SessionID,
			"timestamp":  instant(e.Time), "filename": e.Web["filename"], "lineno": e.Numbers["line"], "colno": e.Numbers["col"],
			"error_type":   e.Name,
			"browser_name": e.Web["browser"], "browser_version": e.Web["browser_version"], "os_name": e.Web["os"],
			"os_version": e.Web["os_version"], "device_type": e.Web["device"],
			"country": e.Web["country"], "region": e.Web["region"],
		})
	}
	return rows
}

func errorMessages(events []Event, _ *Question) []Row {
	var rows []Row
	messages, groups := group(events, func(e *Event) string { return e.Web["message"] })
	for _, m := range messages {
		last := groups[m][0].Time
		for _, e := range groups[m] {
			if e.Time.After(last) {
				last = e.Time
			}
		}
		rows = append(rows, Row{
			"name": m, "count": float64(len(groups[m])), "users": distinct(groups[m], visitorOf), "last_seen": instant(last),
		})
	}
	return rows
}

func errorsByType(events []Event, _ *Question) []Row {
	var rows []Row
	names, groups := group(events, nameOf)
	for _, n := range names {
		rows = append(rows, Row{
			"name": n, "count": float64(len(groups[n])), "users": distinct(groups[n], visitorOf),
			"sessions": distinct(groups[n], sessionOf),
		})
	}
	return rows
}

func errorSummary(events []Event, q *Question) []Row {
	all := distinct(only(q.all, func(e *Event) bool { return e.Kind == "" }), sessionOf)
	rate := 0.0
	if all > 0 {
		rate = min(100, round2(100*distinct(events, sessionOf)/all))
	}
	return []Row{{
		"totalErrors": float64(len(events)), "uniqueErrorTypes": distinct(events, nameOf),
		"affectedUsers":    distinct(events, visitorOf),
		"affectedSessions": distinct(events, sessionOf), "errorRate": rate,
	}}
}

func vitals(events []Event, _ *Question) []Row {
	var rows []Row
	names, groups := group(events, nameOf)
	for _, n := range names {
		values := valuesOf(groups[n], n)
		row := Row{"metric_name": n, "samples": float64(len(values)), "avg_value": round4(average(values))}
		for name, p := range map[string]float64{"p50": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99} {
			row[name] = round4(quantile(values, p))
		}
		rows = append(rows, row)
	}
	return rows
}

func round4(f float64) float64 { return math.RoundToEven(f*10_000) / 10_000 }

func isLink(e *Event) bool { return e.Name == "link_out" || e.Name == "outgoing_link" }

func outboundLinks(events []Event, _ *Question) []Row {
	clicks := only(events, isLink)
	var rows []Row
	keys, groups := group(clicks, func(e *Event) string { return e.Web["href"] + "\x00" + e.Web["link_text"] })
	for _, k := range keys {
		href, text, _ := strings.Cut(k, "\x00")
		if href == "" {
			continue
		}
		of := groups[k]
		last := of[0].Time
		for _, e := range of {
			if e.Time.After(last) {
				last = e.Time
			}
		}
		rows = append(rows, Row{
			"href": href, "text": text, "total_clicks": float64(len(of)), "unique_users": distinct(of, visitorOf),
			"unique_sessions": distinct(of, sessionOf), "percentage": share(len(of), len(clicks)), "last_clicked": instant(last),
		})
	}
	return rows
}

func outboundDomains(events []Event, _ *Question) []Row {
	clicks := only(events, isLink)
	var rows []Row
	hosts, groups := group(clicks, func(e *Event) string {
		u, err := url.Parse(e.Web["href"])
		if err != nil {
			return ""
		}
		return strings.ToLower(strings.TrimPrefix(u.Hostname(), "www."))
	})
	for _, h := range hosts {
		if of := groups[h]; h != "" {
			rows = append(rows, Row{
				"domain": h, "total_clicks": float64(len(of)), "unique_users": distinct(of, visitorOf),
				"unique_links": distinct(of, func(e *Event) string { return e.Web["href"] }),
				"percentage":   share(len(of), len(clicks)),
			})
		}
	}
	return rows
}
