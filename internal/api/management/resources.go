package management

import "github.com/millrace/millrace/internal/api/rpc"

// Deps are what the resources need. The zero value is enough to read the table.
type Deps struct {
	Sessions      Sessions
	Passwords     Passwords
	Accounts      Accounts
	Organizations Organizations
	Websites      Websites
	APIKeys       APIKeys
	Links         Links
	Flags         Flags
	Profiles      Profiles
	Events        Events
	Audit         Audit
}

// Resources returns the table of all operations.
func Resources(deps Deps) []rpc.Resource {
	return []rpc.Resource{
		deps.Sessions.Resource(),
		deps.Passwords.Resource(),
		deps.Accounts.Resource(),
		deps.Organizations.Resource(),
		deps.Websites.Resource(),
		deps.APIKeys.Resource(),
		deps.Links.Resource(),
		deps.Links.Folders(),
		deps.Links.Domains(),
		deps.Flags.Resource(),
		deps.Flags.Segments(),
		deps.Profiles.Resource(),
		deps.Profiles.Erasures(),
		deps.Events.Resource(),
		deps.Audit.Resource(),
	}
}
