#!/bin/sh
# Model-checks the ring's protocols with spin. Each model must hold as it is, and must fail in every
# broken variant that its comment lists, which shows that the model can find mistakes. Speaks TAP; a
# variant's trail is left in build/model.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=${BUILD:-build}/model
number=0
failed=0

report() { # RESULT NAME
    number=$((number + 1))
    [ "$1" = ok ] || failed=1
    echo "$1 $number - $2"
}

# Prints "holds" or "fails", or else the messages of the tool that failed.
check() { # MODEL [MACRO]
    dir=$work/$1${2:+-$2}
    rm -rf "$dir" && mkdir -p "$dir" && cd "$dir" || return
    spin ${2:+-D"$2"} -a "$here/$1.pml" >said 2>&1 &&
        cc -O1 -w -DSAFETY -DMEMLIM=2048 -o pan pan.c >>said 2>&1 && ./pan -m1000000 >>said 2>&1
    if grep -q 'errors: 0' said && ! grep -q 'search depth too small\|out of memory' said; then
        echo holds
    elif grep -q 'errors: [1-9]' said; then
        echo fails
    else
        cat said
    fi
    cd - >/dev/null || return
}

models='slot wake hold gather'
variants() {
    # The macros at the beginnings of columns in the model's opening comment.
    sed -n '1,/\*\//p' "$here/$1.pml" | grep -o '\b[A-Z]\{2,\}\(_[A-Z]\{2,\}\)\+\b' | sort -u
}

plan=0
for model in $models; do
    plan=$((plan + 1 + $(variants "$model" | wc -l)))
done
echo "1..$plan"
for model in $models; do
    said=$(check "$model")
    if [ "$said" = holds ]; then
        report ok "$model holds"
    else
        report 'not ok' "$model holds"
        echo "$said" | sed 's/^/# /'
    fi
    for variant in $(variants "$model"); do
        said=$(check "$model" "$variant")
        if [ "$said" = fails ]; then
            report ok "$model without that fails: $variant"
        else
            report 'not ok' "$model without that fails: $variant"
            echo "$said" | sed 's/^/# /'
        fi
    done
done
exit $failed
