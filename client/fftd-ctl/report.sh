#!/bin/sh
# Prints the text of `fftd-ctl report`: what a helper needs in order to find out why fftd does not
# work, or how fast it is, on a machine that the helper cannot see. fftd-ctl embeds this script.
#     FFTD_CTL    the program that runs it
#     $1          the name of the daemon
#     $2...       options that choose the daemon, for fftd-ctl
#     FFTD_REPORT_CONFIG    the configuration, if it is not /etc/fftd/NAME.conf
#     FFTD_REPORT_DEV       the folder of the device nodes, if it is not /dev
# Faults and their remedies come first, because a reader may have nothing but this text.
# Nothing private belongs in it: no names of hosts or users, no serial numbers, no frames. fftd-ctl
# hides the passwords in each line of the output, which must therefore be whole lines. Each program
# gets 20 s (FFTD_REPORT_SECONDS), because a driver that hangs is one of the things to report.
set -u
name=$1
shift
dir=${FFTD_CTL%/*}
fftd=fftd
for place in "$dir/fftd" "$dir/../sbin/fftd"; do
    [ -x "$place" ] && fftd=$place && break
done
dev=${FFTD_REPORT_DEV:-/dev}
limit_s=${FFTD_REPORT_SECONDS:-20} # for each program
export LC_ALL=C SYSTEMD_PAGER=cat SYSTEMD_COLORS=0
work=$(mktemp -d) || exit 71
trap 'rm -rf "$work"' EXIT
# A directory, or one file.
vendors=${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}
[ -d "$vendors" ] && vendors="$vendors/*.icd"
trap 'exit 130' INT TERM

# ---- how things are shown ----

# Removes private data from the output of all programs.
clean() {
    host=$(uname -n)
    sed -e "s/\\b$(printf '%s' "$host" | sed 's/[].[^$*\/\\]/\\&/g')\\b/HOST/g" \
        -e 's|/home/[^/ :"]*|/home/USER|g' -e 's|/run/user/[0-9]*|/run/user/UID|g' \
        -e 's/\([0-9a-fA-F]\{2\}:\)\{5\}[0-9a-fA-F]\{2\}/MAC-ADDRESS/g' \
        -e 's|\(/by-id/\)[^] "'\''(),;<>[]*[^] "'\''(),;.:<>[]|\1NAME|g' \
        -e '/[Ss]erial *\(Number\|No\)\?[=:]/d'
}

# An empty section says so, to distinguish it from a missing one.
mark_empty() {
    awk '/^$/ { blank++; next }
         { if (empty && /^==== /) print "(nothing)"
           while (blank > 0) { print ""; blank-- }
           print; empty = /^==== / }
         END { if (empty) print "(nothing)" }'
}

section() { printf '\n==== %s\n' "$*"; }

within() { timeout -k 2 "$limit_s" "$@"; }

# show PROGRAM ARGUMENT...: its output below its command line.
show() {
    command=${1##*/}
    line=$*
    echo "$ ${line#"${1%"$command"}"}"
    if ! command -v "$1" >/dev/null 2>&1; then
        echo "($command is not installed)"
        return
    fi
    within "$@" </dev/null >"$work/out" 2>&1
    code=$?
    awk '{ bytes += length + 1 } bytes > 60000 { exit } { print }' "$work/out"
    case $code in
    0) [ -s "$work/out" ] || echo "(no output)" ;;
    124 | 137) echo "(did not end within $limit_s s)" ;;
    *) echo "(exit code $code)" ;;
    esac
}

# files FILE...: each with its text, on one line if it has only one.
files() {
    for file; do
        if [ ! -f "$file" ] || [ ! -r "$file" ]; then continue; fi
        if [ "$(head -c 10000 "$file" 2>/dev/null | wc -l)" -le 1 ]; then
            echo "$file: $(head -c 300 "$file" 2>/dev/null | tr -d '\0')"
        else
            echo "$file:"
            head -c 10000 "$file" | sed 's/^/    /'
        fi
    done
}

# Shows who may use the sockets of a daemon. A group can have the name of a user.
show_sockets() {
    # shellcheck disable=SC2012 # for people
    ls -l "$1" | awk 'NF > 2 { print "   ", $1, $4 ~ /^(root|fftd|fftd-admin)$/ ? $4 : "GROUP", $NF }'
}

# ---- obvious faults ----

has_library() {
    case $1 in
    /*) [ -e "$1" ] ;;
    *)
        for place in /lib /usr/lib /usr/local/lib /lib/* /usr/lib/* /usr/local/lib/*; do
            [ -e "$place/$1" ] && return 0
        done
        PATH=$PATH:/sbin:/usr/sbin ldconfig -p | grep -qF "$1"
        ;;
    esac
}

# value NAME: a text in the answer to `fftd-ctl status --json`.
value() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" "$work/status"; }

look_at_configuration() {
    if [ -e "$config" ]; then
        [ -r "$config" ] || return
        within "$fftd" --config "$config" --check >"$work/check" 2>"$work/mistake" && return
        echo "- The configuration is wrong. Correct it, then run sudo systemctl restart fftd@$name:" \
            "$(sed -n 's/^fftd: error: //p' "$work/mistake" | head -n 1)"
    elif [ ! -s "$work/status" ] && [ -d "${config%/*}" ]; then
        echo "- There is no $config, without which the service fftd@$name does not start:" \
            "sudo install -m 600 -o fftd /etc/fftd/default.conf $config, and set camera.source in it."
    fi
}

look_at_opencl() {
    drivers=0
    for icd in $vendors; do
        [ -f "$icd" ] || continue
        drivers=$((drivers + 1))
        library=$(head -n 1 "$icd")
        has_library "$library" || echo "- $icd names $library, which is not installed. Install the" \
            "package of this driver, or remove the file."
        case $library in
        *libmali*) [ -e "$dev/mali0" ] || echo "- $library needs the vendor's kernel driver, but" \
            "there is no /dev/mali0. See docs/RK3288.md, step 1." ;;
        esac
    done
    within "$fftd" --list-devices --json >"$work/devices" 2>/dev/null
    code=$?
    if [ "$code" = 124 ] || [ "$code" = 137 ]; then
        echo "- Listing the OpenCL devices took more than $limit_s s: a driver hangs."
    elif [ "$code" -gt 128 ]; then
        echo "- Listing the OpenCL devices ended with signal $((code - 128)): a driver crashes." \
            "To find out which, list the devices with one of them at a time:" \
            "OCL_ICD_VENDORS=/etc/OpenCL/vendors/NAME.icd fftd --list-devices"
    elif [ "$drivers" = 0 ]; then
        echo "- No OpenCL driver is installed: there is no .icd file in /etc/OpenCL/vendors. fftd does" \
            "not start without one. Install the GPU's (docs/RK3288.md), or pocl-opencl-icd for the CPU."
    elif [ "$refusal_code" != 77 ] && ! grep -q '"opencl": \[{' "$work/devices"; then
        echo "- No OpenCL device answers$([ "$(id -u)" = 0 ] || echo " to this user; try sudo")." \
            "fftd does not start without one. The section OpenCL has the messages of the drivers." \
            "The package pocl-opencl-icd is a driver for the CPU."
    fi
    if grep -qs panfrost /proc/modules && ! grep -qs panfrost "$work/devices"; then
        echo "- The kernel uses panfrost. Mesa's OpenCL needs RUSTICL_ENABLE=panfrost" \
            "in the service's environment."
    fi
}

# Only for a daemon that needs such a device, or one that neither runs nor has a configuration.
look_at_cameras() {
    source=$(value Source)
    : "${source:=$(sed -n 's/^ *source *= *"\(.*\)";$/\1/p' "$work/check")}"
    case $refusal_code,$source in
    *,v4l2:* | 69,) ;;
    *) return ;;
    esac
    set -- "$dev"/video*
    [ -e "$1" ] || echo "- There is no camera: no /dev/video*. Plug one in, and look for it in the" \
        "kernel's messages below. Until then use a test scene: camera.source = \"pattern:moire\"."
}

look_at_nodes() {
    id fftd >/dev/null 2>&1 || return
    for node in "$dev"/mali0 "$dev"/dri/renderD* "$dev"/video*; do
        [ -c "$node" ] || continue
        mode=$(stat -c %A "$node") group=$(stat -c %G "$node")
        case "$mode, $(id -nG fftd) video render " in
        ???????rw?,* | ????rw????,*" $group "*) continue ;; # all may open it, or its group
        esac
        echo "- The service may not open $node: its mode is $mode and its group is $group." \
            "Give it to the group video: the line KERNEL==\"${node##*/}\", GROUP=\"video\"," \
            "MODE=\"0660\" in /etc/udev/rules.d/60-fftd-nodes.rules, then:" \
            "sudo udevadm control --reload && sudo udevadm trigger"
    done
}

# The service's own last error explains more than systemd's messages about it.
look_at_service() {
    case $(systemctl is-active "fftd@$name" 2>/dev/null) in
    failed) echo "- The service fftd@$name has failed." \
        "$(journalctl -b -p err -n 1 -o cat "_SYSTEMD_UNIT=fftd@$name.service" |
            sed 's/^/Its last error: /')" \
        "Then: sudo systemctl restart fftd@$name" ;;
    inactive) [ -s "$work/status" ] || [ ! -e "$config" ] ||
        echo "- The service fftd@$name is not running: sudo systemctl enable --now fftd@$name" ;;
    esac
}

look_at_daemon() {
    case $(value State) in
    online | paused) ;;
    starting) echo "- The daemon is still starting. The first start compiles the kernels, which can" \
        "take minutes; wait, and make this report again." ;;
    failed) echo "- The OpenCL device does not filter: $(value StateReason). The daemon opens it again" \
        "by itself. If that does not help, the kernel's messages below may say why." ;;
    '')
        case $refusal_code in
        77) echo "- This user may not ask the daemon: $(cat "$work/refusal"). Run the report with" \
            "sudo. To use the daemon without sudo: sudo adduser USER fftd, to read frames, and" \
            "sudo adduser USER fftd-admin, to change the filter; then log in again." ;;
        124 | 137) echo "- The daemon $name did not answer within $limit_s s. The messages of the service" \
            "and of the kernel below may say why. sudo systemctl restart fftd@$name starts it again." ;;
        *) echo "- No daemon named $name answers: $(head -n 1 "$work/refusal")" ;;
        esac
        ;;
    *) echo "- The camera is not online: $(sed -n 's/^camera *[^ ]* //p' "$work/text"). The daemon" \
        "tries again by itself. Its source is $source. The section Cameras lists the cameras of" \
        "this machine; camera.source in $config chooses one." ;;
    esac
    problem=$(value FilterProblem)
    [ -z "$problem" ] || echo "- The filter is not applied as it was asked for: $problem"
}

look_for_causes() {
    look_at_configuration
    look_at_opencl
    look_at_cameras
    look_at_nodes
    look_at_service
    look_at_daemon
    for governor in /sys/class/devfreq/*gpu*/governor /sys/class/devfreq/dmc/governor; do
        [ -f "$governor" ] && ! grep -q performance "$governor" &&
            echo "- $governor is $(cat "$governor"): the clock changes, and with it the frame rate."
    done
}

# ---- the report ----

report() {
    within "$FFTD_CTL" "$@" status --json >"$work/status"
    within "$FFTD_CTL" "$@" status >"$work/text" 2>"$work/said"
    refusal_code=$?
    sed 's/^fftd-ctl: //' "$work/said" >"$work/refusal"
    [ ! -s "$work/status" ] || name=$(value Name)
    config=${FFTD_REPORT_CONFIG:-/etc/fftd/$name.conf}
    echo "Report of fftd, $(date -u +'%Y-%m-%d %H:%M UTC'), daemon $name"
    sed -n -e 's/^camera *[^ ]* /The camera is /p' -e 's/^\(source\|filter\|frames\) */The \1: /p' "$work/text"
    [ "$(id -u)" = 0 ] || echo "Not run as root: the messages of the service and of the kernel, and" \
        "the configuration, may be missing."
    section "What is plainly wrong"
    look_for_causes >"$work/causes"
    if [ -s "$work/causes" ]; then
        cat "$work/causes"
    else
        echo "Nothing that this report looks for."
    fi

    section "Versions"
    show "$fftd" --version
    show "$FFTD_CTL" --version
    command -v dpkg-query >/dev/null && dpkg-query -W -f '${Package} ${Version} ${Architecture}\n' \
        fftd 'libfftd*' 'ocl-icd*' 'libmali*' 'pocl-opencl-icd' 'libpocl2' 'mesa-opencl-icd' \
        'libv4l-0*' 'libsystemd0' systemd libconfig9 2>/dev/null | grep ' [0-9]'
    section "Machine"
    show uname -srvm
    sed -n 's/^PRETTY_NAME=//p' /etc/os-release
    files /proc/device-tree/model
    tr '\0' ' ' 2>/dev/null </proc/device-tree/compatible && echo
    grep -E '^(model name|Hardware|Features|CPU part)' /proc/cpuinfo | sort | uniq -c
    grep -E '^(MemTotal|MemAvailable|CmaTotal|CmaFree)' /proc/meminfo
    show uptime
    files /sys/class/thermal/thermal_zone*/type /sys/class/thermal/thermal_zone*/temp

    section "Clocks"
    for policy in /sys/devices/system/cpu/cpufreq/policy*; do
        files "$policy/scaling_governor" "$policy/scaling_cur_freq" "$policy/cpuinfo_max_freq"
    done
    for device in /sys/class/devfreq/*; do
        files "$device/governor" "$device/cur_freq" "$device/available_frequencies"
    done
    files /sys/devices/platform/*.gpu/dvfs_governor /sys/devices/platform/*.gpu/utilisation

    section "OpenCL"
    # shellcheck disable=SC2086 # a pattern
    files $vendors
    env | grep -E '^(OCL_|OPENCL_|RUSTICL_|POCL_|CL_)'
    show "$fftd" --list-devices
    show clinfo

    section "Device nodes and modules"
    # shellcheck disable=SC2012 # for people
    ls -l "$dev"/mali* "$dev"/dri/* "$dev"/video* "$dev"/media* "$dev"/udmabuf "$dev"/dma_heap/* 2>/dev/null |
        awk '{print $1, $3, $4, $5, $6, $NF}'
    id fftd 2>/dev/null
    grep -E '^(mali|midgard|panfrost|lima|rockchip|rk|rga|uvc|video|v4l|udmabuf|gspca|ov|imx)' \
        /proc/modules | cut -d' ' -f1-4
    section "Cameras"
    show v4l2-ctl --list-devices
    for node in "$dev"/video*; do
        [ -c "$node" ] && show v4l2-ctl -d "$node" --list-formats-ext
    done

    section "Service"
    show systemctl show "fftd@$name" -p LoadState -p ActiveState -p SubState -p Result \
        -p NRestarts -p ExecMainStatus -p DropInPaths -p Environment
    show journalctl -b -u "fftd@$name" -n 200 -o cat --no-hostname
    section "Daemon"
    show "$FFTD_CTL" list
    folder=/run/fftd/$name
    [ -d "$folder" ] || folder=${XDG_RUNTIME_DIR-}/fftd/$name
    [ "$1" != --runtime-dir ] || folder=$2
    [ -d "$folder" ] && echo "$folder:" && show_sockets "$folder"
    [ "$(id -u)" = 0 ] || echo "Groups of this user that fftd's files and devices belong to:" \
        "$(id -nG | tr ' ' '\n' | grep -xE 'fftd|fftd-admin|video|render' | tr '\n' ' ')"
    [ -s "$work/status" ] && for query in status "filter show" stats "camera controls"; do
        # shellcheck disable=SC2086 # a command and its action
        show "$FFTD_CTL" "$@" $query
    done
    section "Configuration"
    show "$fftd" --config "$config" --check
    # shellcheck disable=SC2012 # for people
    ls -l /etc/fftd /var/cache/fftd 2>/dev/null | awk '{print $1, $5, $NF}'
    section "Kernel messages"
    dmesg >"$work/dmesg" 2>&1 || echo "($(head -n 1 "$work/dmesg"))"
    grep -iE 'mali|midgard|panfrost|gpu|uvc|v4l|rkisp|cif|mipi|dma-?buf|oom' "$work/dmesg" |
        tail -n 60
}

report "$@" 2>/dev/null | mark_empty | clean
