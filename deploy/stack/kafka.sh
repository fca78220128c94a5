# shellcheck shell=bash
# kafka.sh - one private Apache Kafka node (KRaft), from the project's published jars
#
# SPDX-License-Identifier: MIT

KAFKA_VERSION=${KAFKA_VERSION:-4.1.1}
KAFKA_LIBS=$STACK_CACHE/kafka-$KAFKA_VERSION

kafka_jars()
{
    [ ! -e "$KAFKA_LIBS/.complete" ] || return 0
    need mvn kafka
    mkdir -p "$STACK_CACHE"
    (
        exec 8>"$STACK_CACHE/kafka.lock"
        flock -w 600 8 || die "another script holds $STACK_CACHE/kafka.lock for 10 minutes"
        [ ! -e "$KAFKA_LIBS/.complete" ] || exit 0
        say "kafka: fetching the jars of version $KAFKA_VERSION (once, 45 MB)"
        rm -rf "$KAFKA_LIBS" "$KAFKA_LIBS.tmp"
        mkdir -p "$KAFKA_LIBS.tmp"
        cat >"$KAFKA_LIBS.tmp/pom.xml" <<END
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>bpmflow</groupId><artifactId>stack</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>$KAFKA_VERSION</version>
    </dependency>
  </dependencies>
</project>
END
        retry 4 timeout 240 mvn -q -B -f "$KAFKA_LIBS.tmp/pom.xml" \
            dependency:copy-dependencies -DoutputDirectory="$KAFKA_LIBS.tmp" \
            </dev/null >"$STACK_CACHE/kafka-fetch.log" 2>&1 || {
            show_log "$STACK_CACHE/kafka-fetch.log"
            die "the jars of Kafka could not be fetched by Maven; is the network there? Then run it again"
        }
        touch "$KAFKA_LIBS.tmp/.complete"
        mv "$KAFKA_LIBS.tmp" "$KAFKA_LIBS"
    ) || exit $?
}

# More listeners, each for clients behind a proxy: KAFKA_PROXIED="PORT:PROXY ..." makes the
# broker listen at PORT too and tell the clients that come there to connect to PROXY.
kafka_write_config()
{
    local pair name i=0 listeners="" advertised="" protocols=""
    for pair in ${KAFKA_PROXIED:-}; do
        i=$((i + 1))
        name=PROXIED$i
        listeners+=",$name://127.0.0.1:${pair%:*}"
        advertised+=",$name://127.0.0.1:${pair#*:}"
        protocols+=",$name:PLAINTEXT"
    done
    cat >"$1/server.properties" <<END
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$3
listeners=PLAINTEXT://127.0.0.1:$2,CONTROLLER://127.0.0.1:$3$listeners
advertised.listeners=PLAINTEXT://127.0.0.1:$2$advertised
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT$protocols
log.dirs=$1/data
num.partitions=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
END
}

kafka_ready() { timeout 10 kcat -b "127.0.0.1:$1" -L -m 2; }

# One try: 0 = runs and answers.
kafka_start_once()
{
    local dir=$STACK_DIR/kafka port cport
    port=$(keep_port "$dir/port")
    cport=$(keep_port "$dir/controller-port")
    kafka_write_config "$dir" "$port" "$cport"
    if [ ! -e "$dir/data/meta.properties" ]; then
        local id
        id=$(head -c 16 /dev/urandom | base64 | tr '+/' 'AA' | cut -c1-22)
        rm -rf "$dir/data"
        timeout 60 java -cp "$KAFKA_LIBS/*" kafka.tools.StorageTool format -t "$id" \
            -c "$dir/server.properties" >"$dir/format.log" 2>&1 || {
            show_log "$dir/format.log"
            die "kafka: the data folder $dir/data could not be formatted"
        }
    fi
    : >"$dir/log"
    start_process kafka java -Xms128m -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=4 \
        -cp "$KAFKA_LIBS/*" kafka.Kafka "$dir/server.properties"
    wait_ready kafka 180 kafka_ready "$port" || return 1
    echo "export BF_KAFKA=127.0.0.1:$port" >"$dir/env"
}

kafka_up()
{
    local dir=$STACK_DIR/kafka try
    need java kafka
    need kcat kafka
    kafka_jars
    mkdir -p "$dir"
    if pid_of kafka >/dev/null && [ -s "$dir/env" ] && kafka_ready "$(<"$dir/port")" >/dev/null 2>&1; then
        return 0
    fi
    stop_process kafka 20
    for try in 1 2 3; do
        kafka_start_once && return 0
        stop_process kafka 5
        # once more where clients expect it, then at another port
        [ "$try" -lt 2 ] || rm -f "$dir/port" "$dir/controller-port"
        warn "stack: kafka did not come up (try $try of 3)"
    done
    show_log "$dir/log"
    die "kafka did not start; its log is $dir/log"
}

kafka_down() { stop_process kafka 30; }
kafka_address() { echo "127.0.0.1:$(<"$STACK_DIR/kafka/port")"; }
