package httpkit

import "github.com/gofiber/fiber/v2"

// Handle adds a route to an app. What can be got can be asked for with HEAD too:
// the response is the same, without its body.
func Handle(app *fiber.App, method, path string, handler fiber.Handler) {
	routed := func(c *fiber.Ctx) error {
		Enter(c)
		return handler(c)
	}
	app.Add(method, path, routed)
	if method == fiber.MethodGet {
		app.Add(fiber.MethodHead, path, routed)
	}
}

// Enter begins a handler that Handle did not add: from then on c.UserContext() is the
// request's context, and the request counts for the route's pattern. As a middleware
// of fiber it would cost each request a second walk over the routes.
func Enter(c *fiber.Ctx) {
	if r := requestOf(c.Context()); r != nil {
		c.SetUserContext(r.ctx)
		r.route = c.Route()
	}
}
