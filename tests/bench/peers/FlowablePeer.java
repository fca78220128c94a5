// SPDX-License-Identifier: MIT
import org.flowable.common.engine.impl.history.HistoryLevel;
import org.flowable.engine.ProcessEngine;
import org.flowable.engine.ProcessEngineConfiguration;
import org.flowable.engine.RuntimeService;
import org.flowable.engine.TaskService;
import org.flowable.engine.impl.cfg.StandaloneProcessEngineConfiguration;
import org.flowable.task.api.Task;

/** Flowable, as its documentation embeds it: no job executor, its own connection pool. */
final class FlowablePeer implements Peer {
    private final ProcessEngine engine;
    private final RuntimeService runtime;
    private final TaskService tasks;

    FlowablePeer(Bench.Database database, boolean history, Bench.Chain chain) {
        StandaloneProcessEngineConfiguration settings = new StandaloneProcessEngineConfiguration();
        settings.setJdbcDriver("org.mariadb.jdbc.Driver")
                .setJdbcUrl(database.url())
                .setJdbcUsername(database.user())
                .setJdbcPassword(database.password())
                .setDatabaseSchemaUpdate(ProcessEngineConfiguration.DB_SCHEMA_UPDATE_TRUE)
                .setAsyncExecutorActivate(false);
        if (!history) {
            settings.setHistoryLevel(HistoryLevel.NONE);
        }
        engine = settings.buildProcessEngine();
        runtime = engine.getRuntimeService();
        tasks = engine.getTaskService();
        engine.getRepositoryService().createDeployment()
                .addString("chain.bpmn20.xml", chain.bpmn("http://flowable.org/bpmn"))
                .deploy();
        System.err.println("history level " + settings.getHistoryLevel());
    }

    @Override
    public String start() {
        return runtime.startProcessInstanceByKey(Bench.KEY).getId();
    }

    @Override
    public String waiting(String instance) {
        Task task = tasks.createTaskQuery().processInstanceId(instance).singleResult();
        return task == null ? null : task.getId();
    }

    @Override
    public void claim(String task, String user) {
        tasks.claim(task, user);
    }

    @Override
    public void complete(String task) {
        tasks.complete(task);
    }

    @Override
    public long running() {
        return runtime.createProcessInstanceQuery().count();
    }

    @Override
    public void close() {
        engine.close();
    }

    public static void main(String[] args) throws InterruptedException {
        Bench.run("flowable", args, FlowablePeer::new);
    }
}
