// Package config turns bullpen.yaml, the BULLPEN_ environment and the command line into one typed, validated
// configuration. A flag beats the environment, the environment beats the file, the file beats the defaults.
//
// The file is read as a tree of nodes and matched against the key tags of the types in this package, so that every
// problem (an unknown key, a bad value, an undefined ${NAME}, two settings that contradict each other) is reported in
// one go with file, line and key. Nothing here touches the network or Redis.
package config
