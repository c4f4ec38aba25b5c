package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"bullpen/internal/web"
	"bullpen/internal/web/access"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"
)

// nginx is a proxy in front of a dashboard under /ops/queues: one server passes the path on, the other strips it.
const nginx = `
daemon off;
pid %[1]s/pid;
error_log stderr warn;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
	proxy_set_header Host $http_host;
	proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
	server { listen unix:%[1]s/passes; location /ops/queues/ { proxy_pass http://%[2]s; } }
	server { listen unix:%[1]s/strips; location /ops/queues/ { proxy_pass http://%[2]s/; } }
}
`

// startNginx runs the proxy and returns the directory with its sockets.
func startNginx(t *testing.T, upstream string) string {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err != nil {
		path = "/usr/sbin/nginx"
	}
	dir, err := os.MkdirTemp("", "nginx")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "conf"), fmt.Appendf(nil, nginx, dir, upstream), 0o600))
	cmd := exec.Command(path, "-p", dir, "-e", "stderr", "-c", filepath.Join(dir, "conf"))
	var said strings.Builder
	cmd.Stderr = &said
	require.NoError(t, cmd.Start(), "nginx is not installed; install it with: apt-get install -y nginx")
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	})
	require.Eventually(t, func() bool {
		c, err := net.Dial("unix", filepath.Join(dir, "strips"))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	}, 20*time.Second, 10*time.Millisecond, said.String())
	return dir
}

// surfer is a browser behind the proxy that was signed in by its form.
type surfer struct {
	*http.Client
	t *testing.T
}

func (s surfer) get(path string) (*http.Response, string) {
	s.t.Helper()
	res, err := s.Get("http://ops.example" + path)
	require.NoError(s.t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res, string(body)
}

func (s surfer) post(path string, form url.Values) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequest(http.MethodPost, "http://ops.example"+path, strings.NewReader(form.Encode()))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "http://ops.example")
	res, err := s.Do(r)
	require.NoError(s.t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(s.t, err)
	return res, string(body)
}

var address = regexp.MustCompile(`(?:href|src|action|formaction)="(/[^"#]*)`)

// TestBehindNginx signs in, follows every address of every page, uses a form and reads the stream, through a proxy that
// passes the path on and one that strips it.
func TestBehindNginx(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("right"), bcrypt.MinCost)
	require.NoError(t, err)
	login, err := access.New(access.Options{
		Users: []access.User{{Name: "ada", Hash: hash, Role: web.Admin}}, BasePath: "/ops/queues",
		Key: func(context.Context) ([]byte, error) { return []byte("k"), nil },
	})
	require.NoError(t, err)
	server := httptest.NewServer(web.Bench(t, func(o *web.Options) { o.Auth, o.BasePath = login, "/ops/queues" }).Handler())
	t.Cleanup(server.Close)
	dir := startNginx(t, server.Listener.Addr().String())
	for _, kind := range []string{"passes", "strips"} {
		t.Run(kind, func(t *testing.T) {
			jar, err := cookiejar.New(nil)
			require.NoError(t, err)
			transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, "unix", filepath.Join(dir, kind))
			}}
			t.Cleanup(transport.CloseIdleConnections)
			s := surfer{&http.Client{Jar: jar, Transport: transport}, t}

			res, body := s.get("/ops/queues/failures")
			require.Equal(t, "/ops/queues/login", res.Request.URL.Path, "a stranger is sent to sign in")
			require.Contains(t, body, `action="/ops/queues/login"`)
			res, body = s.post("/ops/queues/login", url.Values{"name": {"ada"}, "password": {"right"}, "back": {"/failures"}})
			require.Equal(t, "/ops/queues/failures", res.Request.URL.Path, body)
			require.Equal(t, http.StatusOK, res.StatusCode)

			seen, todo := map[string]bool{}, []string{"/ops/queues/"}
			for len(todo) > 0 {
				path := todo[0]
				todo = todo[1:]
				res, body := s.get(path)
				require.Less(t, res.StatusCode, 500, path)
				require.NotEqual(t, http.StatusNotFound, res.StatusCode, path)
				if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
					continue
				}
				for _, m := range address.FindAllStringSubmatch(body, -1) {
					at := strings.ReplaceAll(m[1], "&amp;", "&")
					require.True(t, strings.HasPrefix(at, "/ops/queues/"), "%s on %s leaves the base path", at, path)
					if !seen[at] && !strings.Contains(m[0], "action=") && len(seen) < 150 {
						seen[at] = true
						todo = append(todo, at)
					}
				}
			}
			require.Greater(t, len(seen), 15)

			res, body = s.post("/ops/queues/zone", url.Values{"zone": {"UTC"}, "back": {"/workers"}})
			require.Equal(t, "/ops/queues/workers", res.Request.URL.Path, body)
			res, body = s.post("/ops/queues/queues/email/pause", url.Values{"back": {"/queues/email"}})
			require.Equal(t, "/ops/queues/queues/email", res.Request.URL.Path, body)
			require.Contains(t, body, "Paused email.", "the notice comes with the next page")
			res, _ = s.get("/ops/queues/api/v1/queues")
			require.Equal(t, http.StatusOK, res.StatusCode)

			stream, err := s.Get("http://ops.example/ops/queues/live?topics=/")
			require.NoError(t, err)
			lines := bufio.NewScanner(stream.Body)
			lines.Buffer(nil, 1<<20)
			found := false
			for !found && lines.Scan() {
				found = lines.Text() == "event: beat"
			}
			require.NoError(t, stream.Body.Close())
			require.True(t, found, "events arrive one by one")

			res, _ = s.post("/ops/queues/logout", nil)
			require.Equal(t, "/ops/queues/login", res.Request.URL.Path)
		})
	}
}
