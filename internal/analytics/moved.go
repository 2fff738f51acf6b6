package analytics

import (
	"slices"
	"strings"
)

// The owners of an organization are those of whom anything was counted for it. A
// website that was moved is counted for two, and is one's.
const (
	countedOwners = "SELECT owner_id FROM usage_1d WHERE organization_id = {owner:String}"
	aliasedOwners = "SELECT u.owner_id FROM usage_1d AS u WHERE u.organization_id = {owner:String}"
	sendingOwners = "SELECT owner_id FROM ingestion_1m WHERE organization_id = {owner:String}"
	sentFor       = "e.organization_id = {owner:String}"
)

// Organized is a Subject of an organization, from which and to which websites were
// moved.
func Organized(id string, left, came []string) Subject {
	return Subject{Kind: Organization, ID: id, left: strings.Join(left, ","), came: strings.Join(came, ",")}
}

// moved reports whether websites were.
func (s Subject) moved() bool { return s.left != "" || s.came != "" }

// Owners returns those of an organization's owners, as they were counted, that are its
// own today.
func (s Subject) Owners(counted []string) []string {
	left, came := s.lists()
	today := slices.DeleteFunc(slices.Clone(counted), func(id string) bool { return slices.Contains(left, id) })
	return append(today, came...)
}

func (s Subject) lists() (left, came []string) {
	split := func(ids string) []string {
		return slices.DeleteFunc(strings.Split(ids, ","), func(id string) bool { return id == "" })
	}
	return split(s.left), split(s.came)
}

// Within has SQL about an organization's owners leave out the websites that left it, and
// take in those that came. It needs the parameters of Moves.
func (s Subject) Within(sql string) string {
	if !s.moved() {
		return sql
	}
	return movedSQL.Replace(sql)
}

// Moves are the parameters of Within: the ids of the websites that left, and of those
// that came, with commas between them; ok is false where there are none.
func (s Subject) Moves() (left, came string, ok bool) { return s.left, s.came, s.moved() }

var movedSQL = strings.NewReplacer(
	countedOwners,
	"SELECT CAST(owner_id, 'String') FROM usage_1d WHERE organization_id = {owner:String}"+stays("owner_id"),
	aliasedOwners,
	"SELECT CAST(u.owner_id, 'String') FROM usage_1d AS u WHERE u.organization_id = {owner:String}"+stays("u.owner_id"),
	sendingOwners,
	"SELECT CAST(owner_id, 'String') FROM ingestion_1m WHERE organization_id = {owner:String}"+stays("owner_id"),
	sentFor, "("+sentFor+" AND NOT "+among("left", "e.owner_id")+" OR "+among("came", "e.owner_id")+")",
)

func stays(column string) string {
	return " AND NOT " + among("left", column) + " UNION ALL SELECT arrayJoin(" + listOf("came") + ")"
}

func among(parameter, column string) string {
	return "has(" + listOf(parameter) + ", CAST(" + column + ", 'String'))"
}

func listOf(parameter string) string { return "splitByChar(',', {" + parameter + ":String})" }

// narrow has the statements of a plan ask for what is the subject's today.
func (s Subject) narrow(statements []Statement) {
	if !s.moved() {
		return
	}
	for i := range statements {
		statements[i].SQL = s.Within(statements[i].SQL)
		statements[i].Params = append(slices.Clone(statements[i].Params), stringParam("left", s.left),
			stringParam("came", s.came))
	}
}
