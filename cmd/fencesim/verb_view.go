package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencesim/fencesim/report"
)

type viewFlags struct {
	listen string
}

func newView(w *world) *cobra.Command {
	v := &viewFlags{listen: "localhost:0"}
	c := &cobra.Command{
		Use:   "view [SCENARIO|RESULT|TRACE] [flags]",
		Short: "serve the page of a scenario's runs, step by step",
		Long: `view serves the page that report writes, with stepping: at each state the enabled
transitions are links, those that are sure and those that are only possible told apart. The
address of a page is the run, so that every state can be linked and back is undo. Choose
discipline and machine and run again.

A scenario starts at its initial state, a result or trace at the end of its run. It listens
on this machine only unless --listen names another address, prints where, and refuses
requests for other hosts and from other origins. An interrupt ends it.`,
		Example: `  fencesim view mlx-independent-reductions
  fencesim view out/result.json --listen localhost:8080`,
		Args: oneOf("scenario, result or trace"),
		RunE: func(c *cobra.Command, args []string) error { return v.run(c.Context(), w, args[0]) },
	}
	c.Flags().StringVar(&v.listen, "listen", v.listen, "address to listen on; port 0 takes a free one")
	c.ValidArgsFunction = completeScenario
	return c
}

func (v *viewFlags) run(ctx context.Context, w *world, arg string) error {
	in, err := w.openInput(ctx, "view", arg, false)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", v.listen)
	if err != nil {
		return usage("view: --listen: %w", err)
	}
	hosts := viewHosts(v.listen, l.Addr().(*net.TCPAddr))
	server := &http.Server{
		Handler:           report.NewViewer(in).Handler(hosts),
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    8 << 20, // the address of a long run is long
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	fmt.Fprintf(w.stdout, "http://%s/\n", hosts[0])
	w.complain("fencesim: an interrupt ends it")
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	select {
	case err := <-done:
		return &exitError{statusBackend, fmt.Errorf("view: %w", err)}
	case <-ctx.Done():
	}
	const grace = 3 * time.Second
	last, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := server.Shutdown(last); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return &exitError{statusBackend, fmt.Errorf("view: %w", err)}
	}
	return nil
}

// viewHosts are the names under which browsers may ask, the one to print first: on a
// loopback address its names, else the host that was asked for and the address.
func viewHosts(listen string, at *net.TCPAddr) []string {
	port := ":" + strconv.Itoa(at.Port)
	if at.IP.IsLoopback() {
		hosts := []string{"localhost" + port, "127.0.0.1" + port, "[::1]" + port}
		if at.Port == 80 {
			hosts = append(hosts, "localhost", "127.0.0.1", "[::1]")
		}
		return hosts
	}
	host, _, _ := net.SplitHostPort(listen)
	if host == "" {
		host = at.IP.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() { // every address of this machine
		hosts := []string{"localhost" + port, "127.0.0.1" + port, "[::1]" + port}
		addrs, err := net.InterfaceAddrs()
		if err != nil {
			return hosts
		}
		for _, a := range addrs {
			if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() {
				hosts = append(hosts, net.JoinHostPort(n.IP.String(), strconv.Itoa(at.Port)))
			}
		}
		return hosts
	}
	return []string{strings.ToLower(net.JoinHostPort(host, strconv.Itoa(at.Port)))}
}
