package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/crypto/bcrypt"
)

// hashCost makes one guess take about a quarter of a second.
const hashCost = 12

func (p *program) hashPassword(_ context.Context, args []string) error {
	if _, err := p.parse(p.flags("hash-password"), args, 0); err != nil {
		return err
	}
	password, err := p.readPassword()
	if err != nil {
		return err
	}
	if password == "" {
		return usagef("hash-password: the password is empty")
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), hashCost)
	if errors.Is(err, bcrypt.ErrPasswordTooLong) {
		return usagef("hash-password: the password is longer than 72 bytes, which is all that bcrypt looks at")
	}
	if err != nil {
		return fmt.Errorf("hash password: %w", err)
	}
	_, err = fmt.Fprintln(p.out, string(hash))
	return err
}

// readPassword reads one line, which a terminal does not show.
func (p *program) readPassword() (string, error) {
	if isTerminal(p.in) {
		fmt.Fprint(p.err, "Password: ")
		defer fmt.Fprintln(p.err)
		if stty("-echo") == nil {
			defer func() { _ = stty("echo") }()
		}
	}
	line, err := bufio.NewReader(p.in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read password: %w", err)
	}
	return strings.TrimRight(line, "\r\n"), nil
}

func stty(setting string) error {
	cmd := exec.Command("stty", setting)
	cmd.Stdin = os.Stdin
	return cmd.Run()
}
