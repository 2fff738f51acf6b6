// Package flag holds feature flags and segments, and the rules by which they are made,
// changed, switched and deleted.
//
// It promises that a key names one flag of a website, or of the organization, at a time;
// that what a flag refers to is there when it is changed, and that no flags need each other
// in a circle, also of two changes made at once; that every change names who made it, and
// that a flag can be put back to what it was before any of the last KeptVersions changes, if the
// earlier versions of the organization's flags do not exceed KeptVersionBytes.
// It keeps nothing of those for whom flags are evaluated. What a definition means is said
// by package flageval, and who may manage flags by auth.
package flag

import (
	"errors"
	"time"

	"github.com/millrace/millrace/internal/resource/flag/flageval"
	"github.com/millrace/millrace/internal/tenant/managed"
)

// Errors of stores and of the service. The last three are the causes of API errors that say
// more.
var (
	ErrNotFound        = errors.New("flag not found")
	ErrSegmentNotFound = errors.New("segment not found")
	ErrVersionNotFound = errors.New("version not found")
	// ErrKeyTaken says that another flag of the website, or of the organization, has the key.
	ErrKeyTaken = errors.New("another flag has this key")
	// ErrSegmentKeyTaken says the same of a segment.
	ErrSegmentKeyTaken = errors.New("another segment has this key")
	// ErrNotCovered says that the caller reaches the flags of another website only.
	ErrNotCovered = errors.New("the flag belongs to another website")

	ErrState = errors.New("the flag is in another state")
	ErrInUse = errors.New("another flag depends on it")
	ErrCycle = errors.New("flags depend on each other")
)

// Limits of flags and segments; those of what a flag serves are flageval's.
const (
	MaxFlags          = 2000      // of an organization, archived ones too
	MaxSegments       = 500       // of an organization
	MaxBytes          = 256 << 10 // of a definition or a segment, as compact JSON
	MaxReadBytes      = 32 << 20  // of the definitions that flags/evaluate reads
	MaxDepth          = 10        // prerequisites that need each other in a row
	MaxNameLen        = 255       // code points
	MaxDescriptionLen = 2000      // code points
	MaxOwnerLen       = 255       // code points
	MaxTags           = 10        // of a flag
	MaxTagLen         = 50        // code points
	MaxStaleDays      = 3650
	MaxRuleIDLen      = 64       // code points
	KeptVersions      = 500      // of a flag, the current one too
	KeptVersionBytes  = 64 << 20 // of an organization, without current ones
)

// Type is what the values of a flag are.
type Type string

// The types.
const (
	Boolean Type = "boolean"
	String  Type = "string"
	Number  Type = "number"
	JSON    Type = "json"
)

// State is whether a flag serves anything but its variant for while it is off.
type State string

// The states. A new flag is inactive.
const (
	Active   State = "active"
	Inactive State = "inactive"
	// Archived flags are evaluated nowhere, hide nothing and cannot be changed.
	Archived State = "archived"
)

// Visibility is who may evaluate a flag.
type Visibility string

// The visibilities.
const (
	Public Visibility = "public" // also whoever knows a client id
	Server Visibility = "server" // API keys only
)

// Exposures says of whom it is counted what they got.
type Exposures struct {
	Mode          ExposureMode `json:"mode"`
	SamplePercent int          `json:"samplePercent"` // of those, 1 to 100
}

// ExposureMode is whose exposures are counted.
type ExposureMode string

// The modes.
const (
	ExposeSplit ExposureMode = "split" // for whom a percentage decided
	ExposeAll   ExposureMode = "all"
	ExposeOff   ExposureMode = "off"
)

// About is what is kept of a flag beside its definition. Texts may be empty.
type About struct {
	Type           Type       `json:"type"`
	Visibility     Visibility `json:"visibility"`
	Description    string     `json:"description,omitempty"`
	Tags           []string   `json:"tags,omitempty"`
	Owner          string     `json:"owner,omitempty"`
	StaleAfterDays int        `json:"staleAfterDays,omitempty"` // 0: never
	Exposures      Exposures  `json:"exposures"`
	// Chosen says that the default variant was chosen: that of a boolean flag follows its
	// rules and targets otherwise.
	Chosen bool `json:"chosen,omitempty"`
	// Derived are the environments, in order, whose default variant follows their rules and
	// targets and is not the flag's.
	Derived []string `json:"derived,omitempty"`
}

// Flag is a feature flag; its id begins with "flg_", and its name is its key where it was
// given none.
type Flag struct {
	managed.Record

	WebsiteID string // empty: of all websites of the organization
	State     State
	About     About
	// Definition has the flag's key, which stays, and Active as State says. It is shared
	// and must not be changed. The store's lists leave out all of it but the key.
	Definition flageval.Definition
}

// Key is what the flag is asked for by.
func (f *Flag) Key() string { return f.Definition.Key }

// Live reports whether the flag hides others and may be referred to.
func (f *Flag) Live() bool { return !f.Deleted() && f.State != Archived }

// Stale reports whether nobody has changed the flag for as long as it says.
func (f *Flag) Stale(now time.Time) bool {
	days := f.About.StaleAfterDays
	return days > 0 && f.Live() && !now.Before(f.UpdatedAt.AddDate(0, 0, days))
}

// enter puts a flag into a state.
func (f *Flag) enter(s State) { f.State, f.Definition.Active = s, s == Active }

// Version is what a flag was after one of its changes.
type Version struct {
	Number  int64
	Action  managed.Action
	Changed []string // the fields that the change was about, by their names on the wire
	At      time.Time
	// ActorType, ActorID and ActorName say who made it, as the audit does.
	ActorType, ActorID, ActorName string
	// Flag is the flag as it was; nil in lists.
	Flag *Flag
}

// Filter selects flags, or segments, for a list.
type Filter struct {
	OrganizationID string // required
	// WebsiteID selects a website's own, and Shared those of all websites.
	WebsiteID string
	Shared    bool
	State     State  // empty for all but archived ones
	Tag       string // empty for all; of flags
	Search    string // a part of the key, name or description, whatever its case; empty for all
	Newest    bool   // the latest first; otherwise in the order of creation
	After     string // only ids after this one in the list's order; empty for the first page
	Limit     int    // most records returned; 0 means 1000
}
