// Package testredis gives tests a real redis-server of their own: a child process on a unix socket in a temporary
// directory, with an append-only file, gone when the test ends.
//
// One server per test:
//
//	srv := testredis.Start(t)
//	client := srv.Client(t)
//
// One server per package, which is faster; each test then takes a fresh key prefix:
//
//	var srv *testredis.Server
//
//	func TestMain(m *testing.M) { goleak.VerifyTestMain(testredis.Main(m, &srv)) }
//
//	func TestX(t *testing.T) {
//		client, prefix := srv.Client(t), srv.Prefix()
//		…
//	}
//
// Memory is the in-process store instead, for the smoke tests that prove both behave alike.
package testredis
