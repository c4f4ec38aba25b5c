package web

import (
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"bullpen/templates"

	"github.com/labstack/echo/v4"
)

const (
	// zoneCookie keeps a reader's choice of a time zone, by its name in the IANA database.
	zoneCookie = "bullpen-zone"
	zoneKept   = 365 * 24 * time.Hour
	// maxZones bounds the servers kept for zones that readers chose.
	maxZones = 64
	maxName  = 64
)

// zones are the servers of the zones that readers chose: each is the same dashboard whose clocks show another time.
type zones struct {
	home *time.Location // of those who chose none

	mu sync.Mutex
	by map[string]*Server
}

// forReader is the server that shows times in the zone the reader chose.
func (s *Server) forReader(r *http.Request) *Server {
	c, err := r.Cookie(zoneCookie)
	if err != nil {
		return s
	}
	zone, ok := loadZone(c.Value)
	if !ok || zone.String() == s.o.Zone.String() {
		return s
	}
	s.zones.mu.Lock()
	defer s.zones.mu.Unlock()
	z := s.zones.by[zone.String()]
	if z == nil {
		if len(s.zones.by) >= maxZones {
			clear(s.zones.by)
		}
		z = s.in(zone)
		s.zones.by[zone.String()] = z
	}
	return z
}

// in is the server with its clocks set to another zone. It shares everything else with s.
func (s *Server) in(zone *time.Location) *Server {
	z := *s
	z.o.Zone, z.views = zone, map[string]viewFunc{}
	z.echo = z.routes()
	return &z
}

// loadZone finds a zone by its name; the zone of this machine has none.
func loadZone(name string) (*time.Location, bool) {
	if name == "" || name == "Local" || len(name) > maxName {
		return nil, false
	}
	zone, err := time.LoadLocation(name)
	return zone, err == nil
}

// zonePage asks for the zone of exact times.
func (s *Server) zonePage(c echo.Context) error {
	return s.askZone(c, http.StatusOK, safeBack(c.QueryParam("back")), "")
}

func (s *Server) askZone(c echo.Context, status int, back, problem string) error {
	who, err := s.identify(c.Request())
	if err != nil {
		return err
	}
	in := templates.Input{Kind: "select", Name: "zone", Label: "Time zone", Problem: problem, Help: "It is kept in a cookie of this browser, for exact times and for times in searches."}
	for _, name := range s.zoneNames() {
		o := templates.Option{Value: name, Label: name, Chosen: name == s.o.Zone.String()}
		if name == s.zones.home.String() {
			o.Label += ", this Bullpen's own"
		}
		in.Options = append(in.Options, o)
	}
	a := templates.Ask{
		Title: "Show times in which zone?", Yes: "Show times so", No: "Cancel", NoURL: s.links.to(back), URL: s.links.to("/zone"), Plain: true,
		Fields: []templates.Field{{Name: "back", Value: back}}, Inputs: []templates.Input{in}, Unconfirmed: true,
	}
	return s.showView(c, s.viewRequest(c, who), view{title: "Time zone", status: status, content: templates.AskPage(a)})
}

// zoneNames are the zones to choose from: this Bullpen's own, the reader's, UTC and one for most clocks of the world.
func (s *Server) zoneNames() []string {
	names := []string{s.zones.home.String(), s.o.Zone.String(), "UTC"}
	names = append(names, commonZones()...)
	seen := map[string]bool{}
	return slices.DeleteFunc(names, func(n string) bool {
		twice := seen[n]
		seen[n] = true
		return twice
	})
}

// chooseZone keeps the choice. It changes nothing but the reader's own cookie, so the gate has no part in it.
func (s *Server) chooseZone(c echo.Context) error {
	r := c.Request()
	who, err := s.identify(r)
	if err != nil {
		return err
	}
	if p := s.checkOrigin(r, who); p != nil {
		return p
	}
	r.Body = http.MaxBytesReader(c.Response(), r.Body, maxSignIn)
	if err := r.ParseForm(); err != nil {
		return badBody(err)
	}
	back, name := safeBack(r.PostForm.Get("back")), r.PostForm.Get("zone")
	zone, ok := loadZone(name)
	if !ok {
		return s.askZone(c, http.StatusUnprocessableEntity, back, "There is no time zone "+clip(name, maxName)+".")
	}
	cookie := &http.Cookie{
		Name: zoneCookie, Value: zone.String(), Path: s.o.BasePath + "/", MaxAge: int(zoneKept / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.flashes.secure,
	}
	if zone.String() == s.zones.home.String() {
		cookie.Value, cookie.MaxAge = "", -1
	}
	c.SetCookie(cookie)
	return c.Redirect(http.StatusSeeOther, s.links.to(back))
}

// zoneURL is where the reader of a view chooses another zone.
func (s *Server) zoneURL(r viewRequest) string {
	return s.links.to(withQuery("/zone", url.Values{"back": {r.self()}}))
}

// commonZones are zones by which most people set their clocks, from west to east.
func commonZones() []string {
	return []string{
		"Pacific/Honolulu", "America/Anchorage", "America/Los_Angeles", "America/Phoenix", "America/Denver", "America/Mexico_City",
		"America/Chicago", "America/Bogota", "America/Lima", "America/New_York", "America/Toronto", "America/Caracas", "America/Halifax",
		"America/Santiago", "America/St_Johns", "America/Argentina/Buenos_Aires", "America/Sao_Paulo", "Atlantic/Azores",
		"Europe/Dublin", "Europe/Lisbon", "Europe/London", "Africa/Lagos", "Europe/Amsterdam", "Europe/Berlin", "Europe/Brussels",
		"Europe/Copenhagen", "Europe/Madrid", "Europe/Oslo", "Europe/Paris", "Europe/Prague", "Europe/Rome", "Europe/Stockholm",
		"Europe/Vienna", "Europe/Warsaw", "Europe/Zurich", "Africa/Cairo", "Africa/Johannesburg", "Europe/Athens", "Europe/Bucharest",
		"Europe/Helsinki", "Europe/Kyiv", "Asia/Jerusalem", "Africa/Nairobi", "Asia/Riyadh", "Europe/Istanbul", "Europe/Moscow",
		"Asia/Tehran", "Asia/Dubai", "Asia/Kabul", "Asia/Karachi", "Asia/Tashkent", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Dhaka",
		"Asia/Yangon", "Asia/Bangkok", "Asia/Ho_Chi_Minh", "Asia/Jakarta", "Asia/Hong_Kong", "Asia/Manila", "Asia/Shanghai",
		"Asia/Singapore", "Asia/Taipei", "Australia/Perth", "Asia/Seoul", "Asia/Tokyo", "Australia/Adelaide", "Australia/Brisbane",
		"Australia/Melbourne", "Australia/Sydney", "Pacific/Auckland",
	}
}
