#!/bin/bash
# network: full of native, through slirp4netns: what is reached and what not, and
# that it ends with its sandbox, however that ends. Prints TAP.
# As root in a mount namespace of its own, so that /dev/net/tun can be as systems
# have it, and once more as an ordinary user.
bin=$(cd "$TOP_BUILDDIR" && pwd)/gatehouse
skip() { echo "1..0 # SKIP $*"; exit 0; }
command -v python3 >/dev/null || skip 'python3 is not installed'
command -v slirp4netns >/dev/null || skip 'slirp4netns is not installed'

if [ "$(id -u)" = 0 ] && [ -z "${NATIVE_FULL_INSIDE-}" ]; then
	work=$(mktemp -d) || exit 99
	trap 'rm -rf "$work"' EXIT
	chmod 755 "$work"
	cp "$bin" "$(dirname "$bin")/gatehouse-helper" "$work/" || exit 99
	if mknod "$work/tun" c 10 200 2>/dev/null && chmod 666 "$work/tun" &&
	    unshare -m mount --bind "$work/tun" /dev/net/tun 2>/dev/null; then
		NATIVE_FULL_TUN=$work/tun; export NATIVE_FULL_TUN
	fi
	NATIVE_FULL_INSIDE=$work; export NATIVE_FULL_INSIDE
	unshare -m bash "$0"
	exit
fi
bin=${NATIVE_FULL_INSIDE:-$(dirname "$bin")}/gatehouse
[ -z "${NATIVE_FULL_TUN-}" ] || mount --bind "$NATIVE_FULL_TUN" /dev/net/tun
# Under root it is the sandbox's uid that must be able to open it.
case $(stat -c %a /dev/net/tun 2>/dev/null) in
666) (: </dev/net/tun) 2>/dev/null || skip '/dev/net/tun can not be opened';;
*) skip '/dev/net/tun is not there for every user';;
esac
address=$(python3 -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("192.0.2.123", 9))
print(s.getsockname()[0])' 2>/dev/null)
case $address in ''|127.*) skip 'this machine has no address but loopback';; esac

dir=$(mktemp -d) || exit 99
chmod 755 "$dir"
n=0
result() {	# result STATUS NAME
	n=$((n + 1))
	if [ "$1" = 0 ]; then echo "ok $n - $2"; return; fi
	sed 's/^/# /' "$dir/out" "$dir/err"
	echo "not ok $n - $2"
}
# Those of this mount namespace: other tests may run beside us.
uplinks() {
	local count=0 p own
	own=$(readlink /proc/self/ns/mnt)
	for p in $(pgrep -f '^slirp4netns --configure .*/proc/self/fd/11'); do
		[ "$(readlink "/proc/$p/ns/mnt")" = "$own" ] && count=$((count + 1))
	done
	echo $count
}
gone() {	# no more than there were, soon
	for i in $(seq 100); do
		[ "$(uplinks)" -le "$before" ] && return 0
		sleep 0.1
	done
	return 1
}
before=$(uplinks)

cat >"$dir/serve.py" <<'EOF'
import socket, sys, threading
def serve(at):
    s = socket.socket()
    s.bind((at, 0))
    s.listen(8)
    print(s.getsockname()[1], flush=True)
    def loop():
        while True:
            c = s.accept()[0]
            c.sendall(b"hello\n")
            c.close()
    threading.Thread(target=loop, daemon=True).start()
serve(sys.argv[1])
serve("127.0.0.1")
sys.stdin.read()
EOF
mkfifo "$dir/hold"
python3 "$dir/serve.py" "$address" <"$dir/hold" >"$dir/ports" &
exec 9>"$dir/hold"
trap 'exec 9>&-; rm -rf "$dir"' EXIT
for i in $(seq 100); do
	[ "$(wc -l <"$dir/ports")" = 2 ] && break
	sleep 0.1
done
port=$(sed -n 1p "$dir/ports") inner=$(sed -n 2p "$dir/ports")

all() {	# all WHO COMMAND...: the tests, as somebody
	local who=$1
	shift
	mkdir -m 1777 "$dir/$who"
	run() {
		timeout 60 "$@" env GATEHOUSE_HOME="$dir/$who/home" bash -c \
			'echo $$ >"$GATEHOUSE_HOME.pid"; exec "$@"' x "$bin" sandbox exec \
			--network full -- "$script" >"$dir/out" 2>"$dir/err" </dev/null 9>&-
	}
	script="cat </dev/tcp/$address/$port"
	run "$@" && [ "$(cat "$dir/out")" = hello ]
	result $? "$who: other machines' addresses are reached"
	script="cat </dev/tcp/10.0.2.2/$inner; cat </dev/tcp/127.0.0.1/$inner"
	run "$@"
	! grep -q hello "$dir/out"
	result $? "$who: the loopback of this machine is not"
	gone
	result $? "$who: slirp4netns ended with the sandbox"
	script='echo up; sleep 1000'
	run "$@" &
	for i in $(seq 200); do grep -q up "$dir/out" && break; sleep 0.1; done
	[ "$(uplinks)" -gt "$before" ]
	result $? "$who: while it runs slirp4netns does"
	kill -9 "$(cat "$dir/$who/home.pid")"
	wait $!
	gone
	result $? "$who: and is gone when gatehouse was killed"
}

if [ "$(id -u)" = 0 ]; then
	all root env
	all user setpriv --reuid=12345 --regid=12345 --clear-groups
	mkdir -m 700 "$dir/conf"
	echo 'native: {network: full}' >"$dir/conf/config.yaml"
	GATEHOUSE_HOME="$dir/conf" "$bin" doctor >"$dir/out" 2>"$dir/err" </dev/null
	grep -q 'native, level full works (.*network: full)' "$dir/out" &&
		grep -q 'not claimed that the host.s network' "$dir/out" &&
		! grep -q 'NOT TRUE' "$dir/out"
	result $? 'doctor claims files and processes, and not the network'
	: >"$dir/empty"
	mount --bind "$dir/empty" "$(readlink -f "$(command -v slirp4netns)")"
	script=true
	env GATEHOUSE_HOME="$dir/none" "$bin" sandbox exec --network full -- true \
		>"$dir/out" 2>"$dir/err" </dev/null
	[ $? = 125 ] && grep -q 'install the package slirp4netns' "$dir/err"
	result $? 'without the program it is refused with the cure'
else
	all user env
fi
echo "1..$n"
